// Calls, loops and branches as thunks, for program emitters of every platform.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "backends/common/buffer_assignment.h"
#include "backends/common/thunk.h"
#include "lib/ir/computation.h"

namespace hlo {

// Appends the thunks of a call, while or conditional; `emit` makes those of a called computation.
absl::Status EmitControlFlow(
    const Instruction& instruction, const BufferAssignment& buffers,
    const std::function<absl::StatusOr<ThunkList>(const Computation&)>& emit, ThunkList& thunks);

}  // namespace hlo
