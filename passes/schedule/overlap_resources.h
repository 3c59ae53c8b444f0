// What operations that run in the background take of what devices have only so much of, for
// `latency-hiding-scheduler`. Sequences are made from their end, so it is a done that occupies a
// resource and its start that releases it; with `top_down_scheduling` the other way round:
//
//   s = all-gather-start(x)      releases kAllGather
//   d = all-gather-done(s)       occupies it
//   w = while(…)                 what its body occupies and releases
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/ir/module.h"
#include "passes/schedule/latency_hiding_scheduler.h"

namespace hlo {

enum class OverlapResource : uint8_t {
  kAllGather,
  kAllReduce,
  kAllToAll,
  kCollectiveBroadcast,
  kCollectivePermute,
  kCopy,
  kRaggedAllToAll,
  kReduceScatter,
  kSendRecv,
  kSendHost,
  kRecvHost,
};
constexpr size_t kOverlapResourceCount = 11;
using ResourceCounts = std::array<int64_t, kOverlapResourceCount>;

enum class ResourceUse : uint8_t { kNone, kOccupies, kReleases };
using ResourceUses = std::vector<std::pair<OverlapResource, ResourceUse>>;

// What an instruction is one half of: opcodes for starts and dones of any form, whatever form they
// have. {kAsyncDone, kAllGather} for all-gather-done; opcodes without halves are both themselves.
struct AsyncForm {
  Opcode half, operation;
};
AsyncForm AsyncFormOf(const Instruction& instruction);

class OverlapResources {
 public:
  OverlapResources(const Module& module, const LatencyHidingSchedulerOptions& options);

  // Operations that the scheduler lets run beside others.
  bool IsStart(const Instruction& instruction) const;
  bool IsDone(const Instruction& instruction) const;
  ResourceUses Of(const Instruction& instruction) const;
  // At one time while it runs, what it calls included; of callees whose order is known.
  ResourceCounts NeededBy(const Instruction& instruction) const;
  // How many there are of each.
  ResourceCounts Limits() const;
  // `sequence` is the order of the computation.
  void SetOrder(const Computation& computation, const std::vector<Instruction*>& sequence);

 private:
  bool IsSupported(const Instruction& instruction, Opcode operation) const;
  // By a start, or a done.
  ResourceUse UseBy(bool start) const;

  const LatencyHidingSchedulerOptions& options_;
  std::vector<ResourceCounts> most_;  // by serial of the computation
  std::vector<ResourceUses> uses_;    // each once
};

}  // namespace hlo
