// Loops that count.
#pragma once

#include <functional>
#include <vector>

#include "lib/ir/builder.h"

namespace hlo {

// What one iteration makes of the state, in the body of the loop; `i` is an s32 scalar.
using CountedLoopBody = std::function<std::vector<Instruction*>(
    Builder& builder, Instruction* i, const std::vector<Instruction*>& state)>;

// Whether there is something left to do, as pred[], in the condition of the loop.
using LoopGoesOn =
    std::function<Instruction*(Builder& builder, const std::vector<Instruction*>& state)>;

// for (i = 0; i < count && goes_on(state); ++i) state = body(i, state), starting with `init`; empty
// `goes_on`: the count alone. Returns the state after the loop. Computations are named `name`.body
// and `name`.condition; metadata is that of `origin`.
absl::StatusOr<std::vector<Instruction*>> MakeCountedLoop(Builder& builder, int32_t count,
                                                          const std::vector<Instruction*>& init,
                                                          const CountedLoopBody& body,
                                                          std::string_view name,
                                                          const Instruction* origin,
                                                          const LoopGoesOn& goes_on = {});

}  // namespace hlo
