// Where a device stands among those that take part in a collective with it, as instructions.
#pragma once

#include "lib/analysis/device_groups.h"
#include "lib/ir/builder.h"

namespace hlo {

// The device's own id, of the kind that the groups of `mode` hold: replica-id, partition-id or, for
// kFlattened, the number of the device. A u32 scalar.
Instruction* GroupId(GroupMode mode, Builder& builder);

// Its place in its group of `collective`, from 0, as a u32 scalar.
Instruction* PositionInGroup(const Instruction& collective, Builder& builder);

}  // namespace hlo
