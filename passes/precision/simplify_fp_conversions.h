// Shortens chains of conversions to floats.
//
//   convert_f32(convert_bf16(f32 x))     =>   x
//   convert_f64(convert_bf16(f32 x))     =>   convert_f64(x)
//   convert_f32(convert_bf16(s32 x))     =>   convert_f32(x)
//
// What a narrow type in between would have rounded away stays: results may be more exact than the
// module says.
//
// Requires: nothing.  Ensures: no conversion to a float reads another one.
// Leaves alone: single conversions, even where they keep the type; conversions to other kinds of
// numbers, those with control edges.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class SimplifyFpConversions final : public RewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  SimplifyFpConversions();
};

}  // namespace hlo
