#include "passes/simplify/slice_sinker.h"

#include "absl/container/flat_hash_set.h"
#include "lib/ir/elementwise.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool TakesEqualSlices(const Instruction& op) {
  if (!WorksByElement(op) || op.operand_count() == 0 || !op.has_uses() || op.has_control_edges() ||
      op.shape().has_dynamic_dims())
    return false;
  const Instruction& first = *op.operand(0);
  return absl::c_all_of(op.operands(), [&](const Instruction* slice) {
    return slice->opcode() == Opcode::kSlice && !slice->operand(0)->shape().has_dynamic_dims() &&
           first.opcode() == Opcode::kSlice &&
           slice->attrs<SliceAttrs>().slice == first.attrs<SliceAttrs>().slice &&
           SameDimensions(slice->operand(0)->shape(), first.operand(0)->shape()) &&
           slice->shape().element_type() == slice->operand(0)->shape().element_type();
  });
}

// Whether `op` does to its slices what `like` does to its own, which are of the same arrays.
bool SameButForSlices(const Instruction& op, const Instruction& like) {
  if (op.opcode() != like.opcode() || op.operand_count() != like.operand_count() ||
      op.shape().element_type() != like.shape().element_type() ||
      !(op.attrs_ptr() == like.attrs_ptr()))
    return false;
  for (int i = 0; i < op.operand_count(); ++i) {
    if (op.operand(i)->operand(0) != like.operand(i)->operand(0)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> SliceSinker::RunOnComputation(Computation& computation, PassContext& context) {
  bool changed = false;
  absl::flat_hash_set<const Instruction*> done;
  for (Instruction* op : computation.PostOrder()) {
    if (op->is_dead() || done.contains(op) || !TakesEqualSlices(*op)) continue;
    std::vector<Instruction*> group;
    int64_t elements = 0;
    for (const Instruction* slice : op->operand(0)->operand(0)->users()) {
      if (slice->opcode() != Opcode::kSlice) continue;
      for (Instruction* user : slice->users()) {
        if (done.contains(user) || !TakesEqualSlices(*user) || !SameButForSlices(*user, *op))
          continue;
        done.insert(user);
        group.push_back(user);
        elements += user->shape().element_count();
      }
    }
    const Shape source = op->operand(0)->operand(0)->shape();
    if (elements < source.element_count()) continue;
    if (!context.MayRewrite()) return changed;
    std::vector<Instruction*> whole;
    for (const Instruction* slice : op->operands()) whole.push_back(slice->operand(0));
    Instruction* combined =
        computation.AddClone(*op, source.WithElementType(op->shape().element_type()), whole);
    combined->set_loc(op->loc());
    for (Instruction* member : group) {
      const uint32_t first_new = computation.module().id_limit();
      Builder builder(&computation, member);
      Instruction* slice = builder.OpWithShape(Opcode::kSlice, member->shape(), {combined},
                                               member->operand(0)->attrs_ptr());
      RETURN_IF_ERROR(builder.status());
      const std::vector<Instruction*> operands = member->operand_vector();
      ReplaceKeepingExtras(member, slice, first_new);
      // Elsewhere dce takes the slices away; in a fusion nothing may be unread.
      for (Instruction* operand : operands) {
        if (computation.is_fusion() && !operand->is_dead() && !operand->is_used())
          computation.RemoveUnused(operand);
      }
    }
    context.Count("groups");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(SliceSinker)

}  // namespace hlo
