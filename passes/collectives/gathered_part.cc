#include "passes/collectives/gathered_part.h"

#include "passes/util/channels.h"

namespace hlo {

bool IsGatherOfParts(const Instruction& value, int64_t dimension) {
  if (value.opcode() != Opcode::kAllGather || !value.shape().IsArray() || value.use_count() != 1 ||
      value.is_root() || value.attrs<AllGatherAttrs>().dimensions.value != dimension ||
      value.attrs<AllGatherAttrs>().constrain_layout)
    return false;
  const ModuleConfig& config = value.module().config();
  return value.attrs<AllGatherAttrs>().channel_id ? config.replica_count == 1
                                                  : config.num_partitions == 1;
}

Instruction* SendPart(const Instruction& gather, DevicePairs pairs, Rewriter& rewriter) {
  CollectivePermuteAttrs attrs;
  if (gather.attrs<AllGatherAttrs>().channel_id)
    attrs.channel_id = NextChannelId(rewriter.module());
  attrs.source_target_pairs = std::move(pairs);
  return rewriter.Op(Opcode::kCollectivePermute, {gather.operand(0)},
                     AttrsPtr::Make(std::move(attrs)));
}

}  // namespace hlo
