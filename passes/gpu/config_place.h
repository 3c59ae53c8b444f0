// Where an error in the backend_config of a call stands in the text of the module.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// `status`, whose place counts from the start of the config, as an error of the call: at that place
// of the module, or where its text has another config at the call.
absl::Status AtConfigOf(const Instruction& call, const absl::Status& status);

}  // namespace hlo
