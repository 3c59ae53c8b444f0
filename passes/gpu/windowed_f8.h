// Scaling of 8-bit floats, moved into the loops that send parts of products round.
//
//   x = bf16[…] multiply(convert(f8e4m3fn[…] f), broadcast(s))
//   y = bf16[…] multiply(convert(f8e4m3fn[…] g), broadcast(t))
//   w = while(tuple(x, y, …)), body: dot(gte(p, 0), gte(p, 1))
//     =>   w = while(tuple(f, g, …, s, t)), body: dot(multiply(convert(gte(p, 0)), …), …)
//
// Each product then has its scaled operands beside it, which is what a library multiplies, and what
// is sent is smaller.
#pragma once

#include <optional>

#include "lib/ir/builder.h"
#include "passes/pass.h"

namespace hlo {

// multiply(convert(f8), broadcast(scale)), or divide(…), as bf16, f16 or f32; the scale is a
// scalar.
struct ScaledF8 {
  Instruction* f8 = nullptr;
  Instruction* scaling = nullptr;  // the multiply or divide
  Instruction* scale = nullptr;
};
// Types are those of which a library multiplies one at least: f8e4m3fn and f8e5m2.
std::optional<ScaledF8> MatchScaledF8(Instruction* value);
// `f8`, scaled as `like` is, by `scale`.
Instruction* ScaleF8(Builder& builder, Instruction* f8, const ScaledF8& like, Instruction* scale);

// Moves the scaling of the first two elements of the state of `loop` into it; returns whether it
// did. They may be moved about (bitcast, broadcast, copy, reshape, transpose) on the way.
//
// One operand at most is f8e5m2. The body has two products for each iteration: of the part at hand
// and of the one that comes next (parts of an operand go round), or of two slices, each added up
// (parts of the result go round).
absl::StatusOr<bool> ScaleF8InLoop(Instruction* loop, PassContext& context);

}  // namespace hlo
