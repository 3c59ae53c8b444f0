// Parts of an array gathered from all devices, by the devices that had them.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// Whether `value` is an array gathered along `dimension` that nobody reads but one instruction,
// among the replicas, or the partitions, of a module that has no others.
bool IsGatherOfParts(const Instruction& value, int64_t dimension);

// What devices get of the operand of `gather` that others send to them; zeros, if nobody does.
Instruction* SendPart(const Instruction& gather, DevicePairs pairs, Rewriter& rewriter);

}  // namespace hlo
