// Queues of a GPU on which operations run beside each other, as backend configs name them.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Lets `instruction` run on queue `queue`, and what reads it first wait for that queue. Nothing
// where nobody reads it; a located error where a config is no JSON.
absl::Status RunOnQueue(Instruction* instruction, int64_t queue);

// Lets `instruction` be scheduled before all else in its computation.
absl::Status ScheduleFirst(Instruction* instruction);

}  // namespace hlo
