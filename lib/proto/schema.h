// The messages of serialized modules (`HloModuleProto` and what it holds), described at run time
// from schema.inc: no generated code, and the numbers of the fields stand in one file.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

namespace hlo {

// A new, empty message of the package `xla`; `name` is one of schema.inc.
std::unique_ptr<google::protobuf::Message> NewProto(const std::string& name);

}  // namespace hlo
