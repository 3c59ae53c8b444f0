#include "passes/schedule/overlap_resources.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

std::optional<OverlapResource> ResourceOf(Opcode operation) {
  constexpr std::pair<Opcode, OverlapResource> kResources[] = {
      {Opcode::kAllGather, OverlapResource::kAllGather},
      {Opcode::kAllReduce, OverlapResource::kAllReduce},
      {Opcode::kAllToAll, OverlapResource::kAllToAll},
      {Opcode::kCollectiveBroadcast, OverlapResource::kCollectiveBroadcast},
      {Opcode::kCollectivePermute, OverlapResource::kCollectivePermute},
      {Opcode::kCopy, OverlapResource::kCopy},
      {Opcode::kRaggedAllToAll, OverlapResource::kRaggedAllToAll},
      {Opcode::kReduceScatter, OverlapResource::kReduceScatter}};
  for (const auto& [opcode, resource] : kResources) {
    if (opcode == operation) return resource;
  }
  return std::nullopt;
}

bool IsHostTransfer(const Instruction& instruction) {
  return instruction.attrs<ChannelAttrs>().is_host_transfer;
}

}  // namespace

AsyncForm AsyncFormOf(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kAsyncStart) return {opcode, instruction.call(0)->root()->opcode()};
  if (opcode == Opcode::kAsyncDone) {
    const Instruction* const start = AsyncStartOf(instruction);
    return {opcode, start == nullptr ? opcode : start->call(0)->root()->opcode()};
  }
  const AsyncPair* const pair = AsyncPairOf(opcode);
  // Send and recv start by themselves and are not one kind of operation with their dones.
  if (pair == nullptr || pair->opcode == pair->start) return {opcode, opcode};
  if (opcode == pair->start) return {Opcode::kAsyncStart, pair->opcode};
  if (opcode == pair->done) return {Opcode::kAsyncDone, pair->opcode};
  return {opcode, opcode};
}

OverlapResources::OverlapResources(const Module& module,
                                   const LatencyHidingSchedulerOptions& options)
    : options_(options), most_(module.serial_limit()), uses_(module.serial_limit()) {}

bool OverlapResources::IsSupported(const Instruction& instruction, Opcode operation) const {
  const Instruction* const start =
      instruction.opcode() == Opcode::kAsyncDone ? AsyncStartOf(instruction) : &instruction;
  if (start != nullptr && start->opcode() == Opcode::kAsyncStart &&
      start->attrs<AsyncAttrs>().async_execution_thread != instruction.parent()->execution_thread())
    return true;
  return ResourceOf(operation).has_value();
}

bool OverlapResources::IsStart(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  if (kSendRecvStarts.Has(opcode)) return options_.schedule_send_recvs;
  const AsyncForm form = AsyncFormOf(instruction);
  return form.half == Opcode::kAsyncStart && IsSupported(instruction, form.operation);
}

bool OverlapResources::IsDone(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  if (kSendRecvDones.Has(opcode)) return options_.schedule_send_recvs;
  const AsyncForm form = AsyncFormOf(instruction);
  return form.half == Opcode::kAsyncDone && IsSupported(instruction, form.operation);
}

ResourceUse OverlapResources::UseBy(bool start) const {
  return start == options_.top_down_scheduling ? ResourceUse::kOccupies : ResourceUse::kReleases;
}

ResourceUses OverlapResources::Of(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  const AsyncForm form = AsyncFormOf(instruction);
  const std::optional<OverlapResource> resource = ResourceOf(form.operation);
  if (form.half == Opcode::kAsyncStart || form.half == Opcode::kAsyncDone) {
    if (!resource.has_value()) return {};
    return {{*resource, UseBy(form.half == Opcode::kAsyncStart)}};
  }
  if (opcode == Opcode::kWhile) return uses_[instruction.while_body()->serial()];
  if (opcode == Opcode::kAfterAll) return {{OverlapResource::kSendHost, ResourceUse::kNone}};
  const bool is_recv = opcode == Opcode::kRecv || opcode == Opcode::kRecvDone;
  if (is_recv || opcode == Opcode::kSend || opcode == Opcode::kSendDone) {
    const bool is_done = kSendRecvDones.Has(opcode);
    // A done whose start is in another iteration says nothing of hosts.
    const Instruction& start = is_done ? *instruction.operand(0) : instruction;
    const bool is_host = kSendRecvStarts.Has(start.opcode()) && IsHostTransfer(start);
    const bool is_own = is_recv && !options_.force_send_recv_to_use_same_resource;
    const OverlapResource taken = !is_host ? OverlapResource::kSendRecv
                                  : is_own ? OverlapResource::kRecvHost
                                           : OverlapResource::kSendHost;
    return {{taken, UseBy(!is_done)}};
  }
  if (!options_.track_sync_op_resource_usage || !resource.has_value()) return {};
  return {{*resource, ResourceUse::kOccupies}, {*resource, ResourceUse::kReleases}};
}

ResourceCounts OverlapResources::NeededBy(const Instruction& instruction) const {
  ResourceCounts needed = {};
  const Opcode opcode = instruction.opcode();
  if (instruction.call_count() == 0 || opcode == Opcode::kAsyncStart ||
      opcode == Opcode::kAsyncDone) {
    for (const auto& [resource, use] : Of(instruction)) {
      if (use == ResourceUse::kOccupies) ++needed[static_cast<size_t>(resource)];
    }
  }
  // They run one after the other, or one of them.
  for (const Computation* callee : instruction.calls()) {
    const ResourceCounts& inside = most_[callee->serial()];
    for (size_t i = 0; i < needed.size(); ++i) needed[i] = std::max(needed[i], inside[i]);
  }
  return needed;
}

ResourceCounts OverlapResources::Limits() const {
  ResourceCounts limits = {};
  const auto set = [&limits](OverlapResource resource, int64_t limit) {
    limits[static_cast<size_t>(resource)] = limit;
  };
  set(OverlapResource::kAllGather, options_.all_gather_overlap_limit);
  set(OverlapResource::kAllReduce, options_.all_reduce_overlap_limit);
  set(OverlapResource::kAllToAll, options_.all_to_all_overlap_limit);
  set(OverlapResource::kCollectiveBroadcast, options_.collective_broadcast_overlap_limit);
  set(OverlapResource::kCollectivePermute, options_.collective_permute_overlap_limit);
  set(OverlapResource::kCopy, options_.copy_overlap_limit);
  set(OverlapResource::kRaggedAllToAll, options_.ragged_all_to_all_overlap_limit);
  set(OverlapResource::kReduceScatter, options_.reduce_scatter_overlap_limit);
  set(OverlapResource::kSendRecv, options_.send_recv_overlap_limit);
  set(OverlapResource::kSendHost, options_.send_recv_host_overlap_limit);
  set(OverlapResource::kRecvHost, options_.send_recv_host_overlap_limit);
  return limits;
}

void OverlapResources::SetOrder(const Computation& computation,
                                const std::vector<Instruction*>& sequence) {
  ResourceCounts under_way = {};
  ResourceCounts& most = most_[computation.serial()];
  ResourceUses& uses = uses_[computation.serial()];
  for (auto at = sequence.rbegin(); at != sequence.rend(); ++at) {
    const Instruction& instruction = **at;
    const ResourceUses own = Of(instruction);
    for (const auto& use : own) {
      if (!absl::c_linear_search(uses, use)) uses.push_back(use);
    }
    const bool is_done = IsDone(instruction);
    for (const auto& [resource, use] : own) {
      const auto i = static_cast<size_t>(resource);
      if (is_done) {
        most[i] = std::max(most[i], ++under_way[i]);
      } else if (IsStart(instruction)) {
        --under_way[i];
      }
    }
    for (const Computation* callee : instruction.calls()) {
      const ResourceCounts& inside = most_[callee->serial()];
      for (size_t i = 0; i < most.size(); ++i) {
        if (inside[i] > 0) most[i] = std::max(most[i], under_way[i] + inside[i]);
      }
    }
  }
}

}  // namespace hlo
