// Moves instructions into a computation of their own, which a call in their place runs.
#pragma once

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

// Moves `instructions`, all of one computation and none a parameter, into a new computation `name`
// and returns the call that replaces them:
//
//   a = f32[] negate(x)                  outlined { p.0 = f32[] parameter(0), a = negate(p.0), ROOT b = abs(a) }
//   b = f32[] abs(a)               =>
//   c = f32[] add(b, x)                  call = f32[] call(x), to_apply=outlined
//                                        c = f32[] add(call, x)
//
// Parameters are the values from outside in the order of their first use. A single value that is
// used outside is the result; several become a tuple whose elements take their places, none an
// empty tuple. Control edges to the outside move to the call. It is an error when something outside
// stands between the instructions, that is, needs one of them and is needed by another.
absl::StatusOr<Instruction*> Outline(absl::Span<Instruction* const> instructions,
                                     std::string_view name);

}  // namespace hlo
