#include "passes/util/channels.h"

#include <algorithm>
#include <optional>

#include "lib/ir/any_instruction.h"

namespace hlo {
namespace {

template <class A>
std::optional<int64_t> ChannelIn(const Instruction& instruction) {
  return instruction.attrs_ptr().Is<A>() ? instruction.attrs<A>().channel_id : std::nullopt;
}

template <class A>
bool ReplaceIn(Instruction* instruction, int64_t channel) {
  if (!ChannelIn<A>(*instruction)) return false;
  A attrs = instruction->attrs<A>();
  attrs.channel_id = channel;
  instruction->SetAttrs(std::move(attrs));
  return true;
}

}  // namespace

bool ReplaceChannelId(Instruction* instruction, int64_t channel) {
  return ReplaceIn<AllReduceAttrs>(instruction, channel) ||
         ReplaceIn<AllGatherAttrs>(instruction, channel) ||
         ReplaceIn<ReduceScatterAttrs>(instruction, channel) ||
         ReplaceIn<AllToAllAttrs>(instruction, channel) ||
         ReplaceIn<CollectivePermuteAttrs>(instruction, channel) ||
         ReplaceIn<CollectiveBroadcastAttrs>(instruction, channel) ||
         ReplaceIn<RaggedAllToAllAttrs>(instruction, channel);
}

int64_t NextChannelId(const Module& module) {
  int64_t next = 1;
  const auto see = [&](std::optional<int64_t> channel) {
    if (channel) next = std::max(next, *channel + 1);
  };
  for (const Instruction* instruction : AllInstructions(module)) {
    see(ChannelIn<AllReduceAttrs>(*instruction));
    see(ChannelIn<AllGatherAttrs>(*instruction));
    see(ChannelIn<ReduceScatterAttrs>(*instruction));
    see(ChannelIn<AllToAllAttrs>(*instruction));
    see(ChannelIn<CollectivePermuteAttrs>(*instruction));
    see(ChannelIn<CollectiveBroadcastAttrs>(*instruction));
    see(ChannelIn<RaggedAllToAllAttrs>(*instruction));
    see(ChannelIn<ChannelAttrs>(*instruction));
  }
  return next;
}

}  // namespace hlo
