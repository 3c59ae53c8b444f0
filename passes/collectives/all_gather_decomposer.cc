#include "passes/collectives/all_gather_decomposer.h"

#include "passes/collectives/group_position.h"
#include "passes/util/union_of_parts.h"

namespace hlo {

namespace {

// All all-reduces of a module constrain their layouts or none does: as those that are there do,
// else as the gather does.
bool ConstrainsLayoutOfSum(const Instruction& gather) {
  for (const Computation* computation : gather.module().computations()) {
    if (!computation->MayHold(Opcode::kAllReduce)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kAllReduce)
        return instruction->attrs<AllReduceAttrs>().constrain_layout;
    }
  }
  return gather.attrs<AllGatherAttrs>().constrain_layout;
}

}  // namespace

bool AllGatherDecomposer::Matches(const Instruction& instruction) const {
  const auto& channel = instruction.attrs<AllGatherAttrs>().channel_id;
  return !instruction.shape().has_dynamic_dims() && instruction.operand_count() > 0 &&
         GroupSize(instruction).has_value() &&
         (!channel || *channel > 0);  // an all-reduce takes no others
}

absl::StatusOr<Instruction*> AllGatherDecomposer::Expand(Instruction* gather, Rewriter& rewriter) {
  const auto& attrs = gather->attrs<AllGatherAttrs>();
  AllReduceAttrs reduce_attrs;
  reduce_attrs.channel_id = attrs.channel_id;
  reduce_attrs.replica_groups = attrs.replica_groups;
  reduce_attrs.constrain_layout = ConstrainsLayoutOfSum(*gather);
  reduce_attrs.use_global_device_ids = attrs.use_global_device_ids;
  Instruction* const position = PositionInGroup(*gather, rewriter);
  Instruction* zero = nullptr;  // made where there are other dimensions
  std::vector<Instruction*> results;
  for (int i = 0; i < gather->operand_count(); ++i) {
    Instruction* part = gather->operand(i);
    const Shape whole = gather->shape().IsTuple() ? gather->shape().element(i) : gather->shape();
    const ElementType type = whole.element_type();
    const int64_t size = part->shape().dim(static_cast<int>(attrs.dimensions.value));
    if (zero == nullptr && whole.rank() > 1) zero = rewriter.ScalarConstant(ElementType::kU32, 0);
    std::vector<Instruction*> starts(static_cast<size_t>(whole.rank()), zero);
    starts[static_cast<size_t>(attrs.dimensions.value)] = rewriter.Multiply(
        position, rewriter.ScalarConstant(ElementType::kU32, static_cast<double>(size)));
    // All have the order in memory that the result has.
    Instruction* nothing = rewriter.Broadcast(rewriter.Constant(NothingOf(type)), whole.dims(), {});
    nothing->set_shape(whole);
    Instruction* placed = rewriter.DynamicUpdateSlice(nothing, part, starts);
    placed->set_shape(whole);
    results.push_back(
        rewriter.OpWithShape(Opcode::kAllReduce, whole, {placed}, AttrsPtr::Make(reduce_attrs),
                             {ScalarComputation(rewriter.module(), UnionOpcode(type), type)}));
  }
  return gather->shape().IsTuple() ? rewriter.Tuple(results) : results[0];
}

HLO_DEFINE_PASS(AllGatherDecomposer)

}  // namespace hlo
