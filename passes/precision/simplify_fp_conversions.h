// Shortens chains of conversions between floats.
//
//   convert_f32(convert_bf16(f32 x))     =>   x
//   convert_f64(convert_bf16(f32 x))     =>   convert_f64(x)
//
// What a narrow type in between would have rounded away stays: results may be more exact than the
// module says.
//
// Requires: nothing.  Ensures: no conversion of floats reads another one, nor keeps the type.
// Leaves alone: conversions from or to other kinds of numbers, those with control edges.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class SimplifyFpConversions final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  SimplifyFpConversions();
};

}  // namespace hlo
