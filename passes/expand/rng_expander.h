// Writes rng as arithmetic on the words of a philox generator.
//
//   r = f32[9] rng(a, b), distribution=rng_uniform
//     =>   s = u64[2] rng-get-and-update-state(), delta=9
//          r = f32[9] call(u64[] constant(…), s, a, b), to_apply=xla.rng_uniform_f32_9
//
//   uniform, floats:     (word >> all but the bits of a fraction) · 2^-those · (b - a) + a
//   uniform, integers:   a + word mod (b - a)
//   normal:              a + b · sqrt(-2 log u0) · (sin, cos)(2π u1), of uniform u0 and u1 (Box and
//                        Muller), u0 at least 1e-7
//
// The key is the seed of the run (custom call `GetRngSeed`), the number of the device and the
// constant, another one for each rng: equal computations draw other numbers. delta counts the
// 32-bit words. bf16 and f16 are drawn as f32.
//
// Requires: nothing.  Ensures: no rng outside fusion bodies, but of pred, of integers of less than
// 32 bits, of other floats than f32, f64, f16 and bf16, and of dynamic shapes. The numbers are
// others than those of the rng itself, of which nothing but the distribution is promised.
#pragma once

#include "passes/expand/outlining_expander.h"

namespace hlo {

class RngExpander final : public OutliningExpander {
 protected:
  Opcode Root() const override { return Opcode::kRng; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& rng) const override;
  std::vector<Instruction*> Arguments(const Instruction& rng, Rewriter& rewriter) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& rng,
                                     const std::vector<Instruction*>& arguments,
                                     Builder& builder) const override;
};

}  // namespace hlo
