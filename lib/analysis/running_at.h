// Which instruction a time of live_range.h belongs to.
#pragma once

#include "lib/analysis/live_range.h"
#include "lib/analysis/values.h"

namespace hlo {

// What runs at `time`, or began last; when only arguments are there, what comes first. Null in an
// empty program. O(instructions).
const Instruction* InstructionAt(int time, const Values& values, const LiveRanges& ranges);

}  // namespace hlo
