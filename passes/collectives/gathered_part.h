// Parts of an array gathered from all partitions, by the partitions that had them.
#pragma once

#include <optional>
#include <vector>

#include "passes/rewrite.h"

namespace hlo {

// Whether `value` is an array gathered along `dimension` among the partitions of a module with one
// replica, in groups of devices.
bool IsGatherOfPartitions(const Instruction& value, int64_t dimension);

// The only dimension that `slice`, a dynamic-slice, cuts.
std::optional<int64_t> CutDimension(const Instruction& slice);

// Where `slice` starts along `dimension` on each partition, where a table says so, perhaps in
// multiples of a divisor of the size; none where it would start outside.
//
//   multiply(reshape(dynamic-slice(s32[4] constant({3,2,1,0}), partition-id())), 4)
std::optional<std::vector<int64_t>> StartsFromTable(const Instruction& slice, int64_t dimension);

// What devices get of the operand of `gather` that others send to them; zeros, if nobody does.
Instruction* SendPart(const Instruction& gather, DevicePairs pairs, int64_t channel,
                      Rewriter& rewriter);

}  // namespace hlo
