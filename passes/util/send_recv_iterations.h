// The iterations of a loop in which each pair of devices sends: the frontend attribute
// `_xla_send_recv_validation` of a collective-permute, send or recv.
//
//   source_target_pairs={{0,1},{1,2}}, frontend_attributes={_xla_send_recv_validation={{0,6},{1,7}}}
//
// The first pair sends in iterations 0 to 6, the second in 1 to 7; {1,0}: never. What moves
// operations from one iteration to another changes the numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

using SendRecvIterations = std::vector<std::pair<int64_t, int64_t>>;

// None where there is no such attribute or it is not such a list.
std::optional<SendRecvIterations> SendRecvIterationsOf(const Instruction& instruction);

// Replaces first and last iteration of each pair; nothing where there is no attribute.
void ChangeSendRecvIterations(
    Instruction* instruction,
    const std::function<std::pair<int64_t, int64_t>(int64_t first, int64_t last)>& change);

// For a copy that does iteration `iteration` alone, outside of the loop.
void KeepSendRecvIteration(Instruction* copy, int64_t iteration);

}  // namespace hlo
