#include "passes/util/channels.h"

#include <algorithm>
#include <optional>

namespace hlo {
namespace {

template <class A>
std::optional<int64_t> ChannelIn(const Instruction& instruction) {
  return instruction.attrs_ptr().Is<A>() ? instruction.attrs<A>().channel_id : std::nullopt;
}

}  // namespace

int64_t NextChannelId(const Module& module) {
  int64_t next = 1;
  const auto see = [&](std::optional<int64_t> channel) {
    if (channel) next = std::max(next, *channel + 1);
  };
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      see(ChannelIn<AllReduceAttrs>(*instruction));
      see(ChannelIn<AllGatherAttrs>(*instruction));
      see(ChannelIn<ReduceScatterAttrs>(*instruction));
      see(ChannelIn<AllToAllAttrs>(*instruction));
      see(ChannelIn<CollectivePermuteAttrs>(*instruction));
      see(ChannelIn<CollectiveBroadcastAttrs>(*instruction));
      see(ChannelIn<RaggedAllToAllAttrs>(*instruction));
      see(ChannelIn<ChannelAttrs>(*instruction));
    }
  }
  return next;
}

}  // namespace hlo
