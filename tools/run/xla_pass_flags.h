// The flags of XLA by which hlo-run decides how a platform's passes run and what is dumped of them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "passes/pass_manager.h"
#include "tools/run/options.h"

namespace hlo {

class XlaPassFlags {
 public:
  // Makes the folder of --xla_dump_to.
  static absl::StatusOr<XlaPassFlags> Make(const ToolOptions& options, const Module& module);

  const Instrumentation& instrumentation() const { return instrumentation_; }
  // The module as XLA names such a file, if dumps are wanted.
  absl::Status Dump(const Module& module, std::string_view suffix) const;

 private:
  Instrumentation instrumentation_;
  std::string prefix_;  // of files; empty: none are wanted
};

}  // namespace hlo
