// backends/gpu/library/collective_plan.h
//
// A collective as calls of NCCL: what one member of a group sends, receives and copies, by offsets
// into its arrays. Plans are pure; nccl_communicator.h carries them out.
//
//   r = f32[6,4] all-gather(x), dimensions={0}      all-gather x[0] -> r[0], 12 f32
//   r = f32[3,8] all-gather(x), dimensions={1}      one for each row, as the rows of the members
//                                                   alternate in the result
//   r = c64[3] all-reduce(x), to_apply=sum          all-reduce sum x[0] -> r[0], 6 f32
//
// all-to-all, ragged-all-to-all and collective-permute are sends and receives. What a device has
// for itself is copied, and what nobody sends it is zero.
//
// NCCL reduces by one operation, in the operands' own type and in an order of its own, so that sums
// of floats differ in their last bits from those of one process. Its minimum and maximum of floats
// lose NaN, which HLO's keep: those are not for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/gpu/cuda/nccl.h"
#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo::gpu {

// One call or copy. Offsets are in bytes, from the start of an operand and of a result.
struct CollectiveStep {
  enum class Kind : uint8_t {
    kAllReduce,
    kReduceScatter,  // `count` of the result
    kAllGather,      // `count` of the operand
    kBroadcast,
    kSend,
    kReceive,
    kCopy,  // the last two: `count` bytes of this device's own memory, without NCCL
    kZero,
  };
  Kind kind = Kind::kCopy;
  int operand = -1;
  int64_t from = 0;
  int result = -1;
  int64_t to = 0;
  int64_t count = 0;
  NcclType type = NcclType::kU8;
  NcclReduction reduction = NcclReduction::kSum;
  int peer = 0;  // of kSend and kReceive; kBroadcast: the root
};

struct CollectivePlan {
  std::vector<CollectiveStep> own;    // copies and zeros, which come first
  std::vector<CollectiveStep> calls;  // all at once, in one group
};

// More calls than this are more than NCCL should be given at once.
inline constexpr int64_t kMostCalls = 4096;

// Whether NCCL can do it for some group; the answer is the same on every device.
Decision IsForNccl(const Instruction& collective);

// What a member does of a collective that IsForNccl takes, but ragged-all-to-all. None: the shapes
// are not those of so many members, or there would be too many calls; the same for all members.
std::optional<CollectivePlan> PlanCollective(const Instruction& collective, int64_t members,
                                             int64_t self);

// The slices of rows that a member of a ragged-all-to-all sends: as many to each member as to any
// other, the first ones to the first member.
struct RaggedSlices {
  std::vector<int64_t> begin;  // in its operand
  std::vector<int64_t> size;
  std::vector<int64_t> to;  // in the result of whom they are for
};
// An error, the same for all members, when some slice lies outside of an array.
absl::StatusOr<CollectivePlan> PlanRagged(const Instruction& collective,
                                          const std::vector<RaggedSlices>& members, int64_t self);

// A line for each step.
std::string ToString(const CollectivePlan& plan);

}  // namespace hlo::gpu
