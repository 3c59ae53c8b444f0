// Questions about the values inside a module, which the interpreter answers:
//
//   --first-nan       which operation makes the first NaN or infinity out of numbers
//   --probe=REGEX     what values these instructions have, each time they are computed
//   --isolate[=REGEX] which operation of the entry another platform computes differently when it
//                     gets the interpreter's operands
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"

namespace hlo {

struct LookInsideOptions {
  bool first_nan = false;
  std::string probe;    // empty: not asked for
  std::string isolate;  // empty: not asked for; a regular expression
  std::optional<Tolerance> tolerance;
  CompileOptions compile;
};

struct LookInside {
  std::string text;
  int64_t different = 0;  // isolated operations that differ, or failed
};

// `module` is not changed. Names in the text are those of the module, places those of its source.
absl::StatusOr<LookInside> LookIntoModule(const Module& module,
                                          const std::vector<Literal>& arguments, Backend& platform,
                                          const LookInsideOptions& options);

}  // namespace hlo
