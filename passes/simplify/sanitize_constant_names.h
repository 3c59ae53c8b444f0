// Gives constants names that are identifiers in the languages of back ends.
//
//   the-constant.1 = f32[] constant(1)      =>   the_constant_1 = f32[] constant(1)
//
// `.` and `-` become `_`; a name that another instruction has gets a suffix `_1`, `_2`, …, and it
// is always the constant that gives way.
//
// Requires: nothing.  Ensures: no constant has `.` or `-` in its name; names stay unique.
// The answer "changed" is about names: a module whose constants have such names already
// is left as it is.
#pragma once

#include "passes/pass.h"

namespace hlo {

class SanitizeConstantNames final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
