// Moves instructions into a computation of their own, which a call in their place runs.
#pragma once

#include <functional>
#include <string_view>

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
// used outside is the result, and the call has what is known of it (metadata, sharding, …); several
// become a tuple whose elements take their places, none an empty tuple. Control edges to the
// outside move to the call. It is an error when something outside stands between the instructions,
// that is, needs one of them and is needed by another.
absl::StatusOr<Instruction*> Outline(absl::Span<Instruction* const> instructions,
                                     std::string_view name);

// The new computation and the instruction that runs it, which need not be a call.
struct OutlineOptions {
  std::string_view computation;
  std::string_view parameter = "p.";  // their numbers follow
  Opcode opcode = Opcode::kCall;
  AttrsPtr attrs = {};
  std::string_view name = "call";
  // Whether `reader`, one of the instructions or a copy, has `value` from outside as a copy in the
  // computation, not as a parameter. What was copied and is not read any more is removed.
  std::function<bool(const Instruction& value, const Instruction& reader)> is_copied = nullptr;
};

// The same without a look at what is outside, in time linear in what moves: for passes that know
// that nothing stands between. `instructions` have their operands before them; the computation
// comes last in the module.
Instruction* OutlineInOrder(absl::Span<Instruction* const> instructions,
                            const OutlineOptions& options);

}  // namespace hlo
