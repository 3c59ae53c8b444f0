// Collectives of several devices by the communicator of GPUs (library/nccl_communicator.h) where
// the state has one and all members of the group have GPUs of their own; else as the host does
// them, by which name they go in texts and profiles.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/thunk.h"
#include "lib/ir/instruction.h"

namespace hlo::gpu {

// For a collective that IsForNccl takes. `elsewhere`: the host's thunk for it. A slice for each
// operand and result.
std::unique_ptr<Thunk> MakeCollectiveThunk(const Instruction& collective,
                                           std::vector<BufferSlice> operands,
                                           std::vector<BufferSlice> results,
                                           std::unique_ptr<Thunk> elsewhere);

}  // namespace hlo::gpu
