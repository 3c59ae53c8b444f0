// A folder of dumps in the place of an input file: the module before the passes, as XLA's
// --xla_dump_to and ours name it.
//
//   module_0000.jit_f.before_optimizations.txt      also .hlo, .pb, .pbtxt, with one s less, packed
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hlo {

// The file of the one module in `folder`; text before other forms. An error when there is none, or
// when there are several modules: it names them.
absl::StatusOr<std::string> ModuleOfDump(const std::string& folder);

}  // namespace hlo
