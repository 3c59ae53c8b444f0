#include "passes/collectives/reduce_scatter_creator.h"

#include "passes/collectives/own_part.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

// `x` without what is left over of `dimension` after whole parts of `size`.
Instruction* WholeParts(Instruction* x, int64_t dimension, int64_t size, Rewriter& rewriter) {
  const auto d = static_cast<int>(dimension);
  const int64_t rest = x->shape().dim(d) % size;
  if (rest == 0) return x;
  const DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  return rewriter.Slice(x, starts, x->shape().WithDim(d, x->shape().dim(d) - rest).dims());
}

// dynamic-slice(all-reduce(x), own place)            =>  reduce-scatter(x)
// dynamic-slice(reshape(all-reduce(x)), own place)   =>  reshape(reduce-scatter(x))
Instruction* ScatterInstead(Instruction* slice, Rewriter& rewriter) {
  Instruction* const read = slice->operand(0);
  Instruction* const reduce = BeforeOwnReshape(read);
  if (reduce->opcode() != Opcode::kAllReduce || !reduce->shape().IsArray() ||
      reduce->attrs<AllReduceAttrs>().constrain_layout)
    return nullptr;
  PassContext& context = rewriter.context();
  if (!reduce->has_one_user() || reduce->is_root()) {
    context.Missed(*reduce, "not only a part of it is read");
    return nullptr;
  }
  const std::optional<OwnPart> part = FindOwnPart(*slice, PartsCover::kFront);
  if (!part) {
    context.Missed(*reduce, "which part is read is not known");
    return nullptr;
  }
  const int64_t whole = read->shape().dim(static_cast<int>(part->dimension));
  const std::optional<int64_t> dimension =
      read == reduce ? part->dimension : DimensionBeforeReshape(*read, part->dimension);
  if (!dimension || whole < 2 * part->size ||
      !TakesPartsInOrder(*part, DeviceGroups(*reduce), whole - whole % part->size)) {
    context.Missed(*reduce, "the part that is read is not the one at the place of the device");
    return nullptr;
  }
  const auto& from = reduce->attrs<AllReduceAttrs>();
  ReduceScatterAttrs attrs;
  if (from.channel_id) attrs.channel_id = NextChannelId(slice->module());
  attrs.replica_groups = from.replica_groups;
  attrs.use_global_device_ids = from.use_global_device_ids;
  attrs.dimensions.value = *dimension;
  rewriter.set_origin(reduce);
  Instruction* const x = WholeParts(reduce->operand(0), *dimension, part->size, rewriter);
  const Shape shape = read == reduce
                          ? slice->shape()
                          : reduce->shape().WithDim(static_cast<int>(*dimension), part->size);
  Instruction* const scatter = rewriter.OpWithShape(
      Opcode::kReduceScatter, shape, {x}, AttrsPtr::Make(std::move(attrs)), {reduce->to_apply()});
  PassOnBackendConfig(*reduce, scatter);
  if (read == reduce) return scatter;
  return rewriter.Reshape(scatter, slice->shape().dims());
}

constexpr Rule kScatterRules[] = {
    {"scatter-instead", Opcode::kDynamicSlice, kExact, ScatterInstead}};

}  // namespace

ReduceScatterCreator::ReduceScatterCreator() : CollectiveRewritePass(this, kScatterRules) {}

HLO_DEFINE_PASS(ReduceScatterCreator)

}  // namespace hlo
