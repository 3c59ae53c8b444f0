#include "passes/collectives/all_gather_broadcast_reorder.h"

#include "passes/util/channels.h"

namespace hlo {
namespace {

// The broadcast that `gather` reads, when it repeats its operand along another dimension than
// the gathered one.
Instruction* RepeatingOperand(const Instruction& gather) {
  if (!gather.shape().IsArray() || gather.shape().has_dynamic_dims()) return nullptr;
  Instruction* broadcast = gather.operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast) return nullptr;
  const DimVec& kept = broadcast->attrs<BroadcastAttrs>().dimensions;
  const int64_t gathered = gather.attrs<AllGatherAttrs>().dimensions.value;
  for (int i = 0; i < gather.shape().rank(); ++i) {
    if (i != gathered && gather.shape().dim(i) != 1 && !absl::c_linear_search(kept, i))
      return broadcast;
  }
  return nullptr;
}

// The all-gather of `x` along `dimension` by the devices of `gather`, to `size` elements there.
Instruction* GatherInstead(const Instruction& gather, Instruction* x, int64_t dimension,
                           int64_t size) {
  const Shape shape = x->shape()
                          .WithElementType(gather.shape().element_type())
                          .WithDim(static_cast<int>(dimension), size);
  Instruction* smaller = gather.parent()->AddClone(gather, shape, {x});
  AllGatherAttrs attrs = gather.attrs<AllGatherAttrs>();
  attrs.dimensions.value = dimension;
  if (attrs.channel_id) attrs.channel_id = NextChannelId(gather.module());
  smaller->SetAttrs(std::move(attrs));
  smaller->clear_sharding();
  return smaller;
}

// all-gather(broadcast(x)) along a dimension of x  =>  broadcast(all-gather(x))
Instruction* GatherAlongOperand(Instruction* gather, Rewriter& rewriter) {
  const Instruction* broadcast = RepeatingOperand(*gather);
  if (broadcast == nullptr) return nullptr;
  const DimVec& kept = broadcast->attrs<BroadcastAttrs>().dimensions;
  const int64_t gathered = gather->attrs<AllGatherAttrs>().dimensions.value;
  const auto at = absl::c_find(kept, gathered);
  if (at == kept.end()) return nullptr;
  Instruction* smaller = GatherInstead(*gather, broadcast->operand(0), at - kept.begin(),
                                       gather->shape().dim(static_cast<int>(gathered)));
  return rewriter.Broadcast(smaller, gather->shape().dims(), kept);
}

// all-gather(broadcast(x)) along a new dimension  =>  reshape(broadcast(all-gather(reshape(x)))):
//     the shards side by side, then the repetitions within a shard
Instruction* GatherAlongRepetition(Instruction* gather, Rewriter& rewriter) {
  const Instruction* broadcast = RepeatingOperand(*gather);
  if (broadcast == nullptr) return nullptr;
  const DimVec& kept = broadcast->attrs<BroadcastAttrs>().dimensions;
  const int64_t gathered = gather->attrs<AllGatherAttrs>().dimensions.value;
  if (absl::c_linear_search(kept, gathered)) return nullptr;
  const int64_t repetitions = broadcast->shape().dim(static_cast<int>(gathered));
  if (repetitions == 0) return nullptr;
  const int64_t shards = gather->shape().dim(static_cast<int>(gathered)) / repetitions;
  Instruction* x = broadcast->operand(0);
  std::vector<int64_t> sizes = {1};
  sizes.insert(sizes.end(), x->shape().dims().begin(), x->shape().dims().end());
  Instruction* smaller = GatherInstead(*gather, rewriter.Reshape(x, sizes), 0, shards);
  std::vector<int64_t> apart(gather->shape().dims().begin(), gather->shape().dims().end());
  apart[static_cast<size_t>(gathered)] = repetitions;
  apart.insert(apart.begin() + gathered, shards);
  std::vector<int64_t> dimensions = {gathered};
  for (const int64_t dimension : kept)
    dimensions.push_back(dimension > gathered ? dimension + 1 : dimension);
  return rewriter.Reshape(rewriter.Broadcast(smaller, apart, dimensions), gather->shape().dims());
}

constexpr Rule kGatherRules[] = {
    {"gather-along-operand", Opcode::kAllGather, kExact, GatherAlongOperand},
    {"gather-along-repetition", Opcode::kAllGather, kExact, GatherAlongRepetition},
};

}  // namespace

AllGatherBroadcastReorder::AllGatherBroadcastReorder() : RewritePass(this, kGatherRules) {}

absl::StatusOr<bool> AllGatherBroadcastReorder::Run(Module& module, PassContext& context) {
  for (const Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kAllGather)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kAllGather ||
          !instruction->attrs<AllGatherAttrs>().constrain_layout)
        continue;
      context.Missed(*instruction, "it constrains layouts: no all-gather of the module is touched");
      return false;
    }
  }
  return RewritePass::Run(module, context);
}

HLO_DEFINE_PASS(AllGatherBroadcastReorder)

}  // namespace hlo
