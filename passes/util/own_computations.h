// For passes that find one layout, one sharding for what a computation takes and returns: callers
// of one computation may want several.
#pragma once

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/ops/opcode_set.h"

namespace hlo {

// Gives each caller of these opcodes computations that nothing else calls: copies of those that
// something does. Whether there were any; a located error where they grow past GrowthLimit.
absl::StatusOr<bool> GiveOwnComputations(Module& module, const OpcodeSet& callers);

}  // namespace hlo
