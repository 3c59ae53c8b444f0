// Lets operations that know bf16 read and give it without conversions around them.
//
//   d = f32[4,5] dot(f32[4,3] convert(bf16 x), f32[3,5] convert(bf16 y))
//   e = bf16[4,5] convert(d)                       =>   e = bf16[4,5] dot(x, y)
//
// Which operations these are is for the back end to say (options, float_support.h): by default
// none. One that does not mix types, or applies a computation, is changed only if that leaves it
// all bf16; so an all-reduce of several arrays.
//
// Requires: nothing.  Ensures: no such operation reads a conversion from bf16 that it need not
// read, nor is read by conversions to bf16 only.
// Leaves alone: control flow, tuples, fusions, custom calls, bitcasts, what has side effects or
// works in place; the root, unless it mixes types.
#pragma once

#include "passes/pass.h"
#include "passes/precision/float_support.h"

namespace hlo {

class Bfloat16Fold final : public WithOptions<Pass, FloatSupportOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
