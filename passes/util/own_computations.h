// For passes that find one layout, one sharding for what a computation takes and returns: callers
// of one computation may want several.
#pragma once

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/ops/opcode_set.h"

namespace hlo {

// Gives each caller of these opcodes computations that nothing else calls: of those that several
// call, copies, but for the first, where none of another opcode is among them. Whether there were
// any; a located error where they grow past GrowthLimit.
absl::StatusOr<bool> GiveOwnComputations(Module& module, const OpcodeSet& callers);

}  // namespace hlo
