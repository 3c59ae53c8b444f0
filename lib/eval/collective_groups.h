// Who takes part in a collective with a device.
//
//   x = f32[2] all-reduce(y), replica_groups={{0,1}}         2 replicas of 2 partitions:
//                                                            devices 0 and 2 meet, and 1 and 3
#pragma once

#include <cstdint>
#include <vector>

#include "lib/eval/communicator.h"
#include "lib/ir/instruction.h"

namespace hlo {

// Those that the device meets, itself among them, in the order in which they count; empty: it is in
// no group.
std::vector<int64_t> GroupOf(const Instruction& collective, int64_t device, const DeviceMesh& mesh);

}  // namespace hlo
