#include "passes/collectives/collective_transformation_reorderer.h"

#include <algorithm>

#include "passes/rewrite.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace {

// Where dimension `dim` of `from` is in `to`, if it is there: what is before it has as many
// elements in both.
std::optional<int64_t> SameDimension(Shape from, int64_t dim, Shape to) {
  int64_t before = 1, elements = 1, d = 0;
  for (int64_t i = 0; i < dim; ++i) before *= from.dim(static_cast<int>(i));
  while (d < to.rank() && elements < before) elements *= to.dim(static_cast<int>(d++));
  if (elements != before || d == to.rank() ||
      to.dim(static_cast<int>(d)) != from.dim(static_cast<int>(dim)))
    return std::nullopt;
  return d;
}

bool IsPlain(const Instruction& instruction) {
  return instruction.operand_count() == 1 && instruction.shape().IsArray() &&
         !instruction.shape().has_dynamic_dims() && !instruction.has_control_edges();
}

// Moves the reshapes after `gather` before it.
absl::StatusOr<bool> ReorderGather(Instruction* gather, PassContext& context) {
  if (!IsPlain(*gather)) return false;
  AllGatherAttrs attrs = gather->attrs<AllGatherAttrs>();
  Instruction* last = gather;
  Instruction* part = gather->operand(0);
  const int64_t size = gather->shape().dim(static_cast<int>(attrs.dimensions.value));
  const int64_t own = part->shape().dim(static_cast<int>(attrs.dimensions.value));
  const uint32_t first_new = gather->module().id_limit();
  Builder b(gather);
  while (last->uses().size() == 1 && !last->is_root()) {
    Instruction* const reshape = last->uses()[0].user;
    if (reshape->opcode() != Opcode::kReshape || !IsPlain(*reshape)) break;
    const std::optional<int64_t> dim =
        SameDimension(last->shape(), attrs.dimensions.value, reshape->shape());
    if (!dim) break;
    if (last == gather && !context.MayRewrite()) return false;
    attrs.dimensions.value = *dim;
    part = b.OpWithShape(Opcode::kReshape, reshape->shape().WithDim(static_cast<int>(*dim), own),
                         {part});
    last = reshape;
  }
  if (last == gather) return false;
  context.Passed(*gather, "comes after `{}`", last->name());
  const Shape whole = part->shape().WithDim(static_cast<int>(attrs.dimensions.value), size);
  Instruction* const gathered =
      b.OpWithShape(Opcode::kAllGather, whole, {part}, AttrsPtr::Make(attrs));
  RETURN_IF_ERROR(b.status());
  gathered->CopyExtrasFrom(*gather);
  if (gathered->sharding() != nullptr && !SameDimensions(whole, gather->shape()))
    gathered->clear_sharding();
  Instruction* const before = last->operand(0);
  ReplaceKeepingExtras(last, gathered, first_new);
  if (!before->is_dead()) before->parent()->RemoveUnused(before);
  context.Count("gathers");
  return true;
}

// Moves the reshapes before `reduce` after it.
absl::StatusOr<bool> ReorderReduce(Instruction* reduce, PassContext& context) {
  if (!IsPlain(*reduce) || reduce->attrs<AllReduceAttrs>().constrain_layout || reduce->is_root() ||
      !reduce->has_one_user())
    return false;
  std::vector<Shape> shapes;  // the last reshape's first
  Instruction* x = reduce->operand(0);
  while (x->opcode() == Opcode::kReshape && x->uses().size() == 1 && IsPlain(*x)) {
    shapes.push_back(x->shape());
    x = x->operand(0);
  }
  if (shapes.empty() || !context.MayRewrite()) return false;
  context.Passed(*reduce, "comes before {} reshapes", shapes.size());
  const uint32_t first_new = reduce->module().id_limit();
  Builder b(reduce);
  const Shape shape = x->shape().WithElementType(reduce->shape().element_type());
  Instruction* result =
      b.OpWithShape(Opcode::kAllReduce, shape, {x}, reduce->attrs_ptr(), {reduce->to_apply()});
  for (auto it = shapes.rbegin(); it != shapes.rend(); ++it) {
    result = b.OpWithShape(Opcode::kReshape, it->WithElementType(reduce->shape().element_type()),
                           {result});
  }
  RETURN_IF_ERROR(b.status());
  Instruction* const reshape = reduce->operand(0);
  ReplaceKeepingExtras(reduce, result, first_new);
  if (!reshape->is_dead()) reshape->parent()->RemoveUnused(reshape);
  context.Count("reductions");
  return true;
}

}  // namespace

absl::StatusOr<bool> CollectiveTransformationReorderer::RunOnComputation(Computation& computation,
                                                                         PassContext& context) {
  if (!computation.MayHoldAny({Opcode::kAllGather, Opcode::kAllReduce})) return false;
  bool changed = false;
  for (Instruction* instruction : computation.PostOrder()) {
    if (instruction->is_dead()) continue;
    bool moved = false;
    if (instruction->opcode() == Opcode::kAllGather) {
      ASSIGN_OR_RETURN(moved, ReorderGather(instruction, context));
    } else if (instruction->opcode() == Opcode::kAllReduce) {
      ASSIGN_OR_RETURN(moved, ReorderReduce(instruction, context));
    }
    changed |= moved;
  }
  return changed;
}

absl::StatusOr<bool> CollectiveTransformationReorderer::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const bool changed, ComputationPass::Run(module, context));
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(CollectiveTransformationReorderer)

}  // namespace hlo
