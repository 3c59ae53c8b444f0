#include "passes/simplify/slice_hoister.h"

namespace hlo {
namespace {

// slice(op(x, y))  =>  op(slice(x), slice(y))
Instruction* SliceOperands(Instruction* slice, Rewriter& rewriter) {
  Instruction* op = slice->operand(0);
  if (!IsElementwise(op->opcode()) || op->operand_count() != 2 || !op->has_one_user() ||
      op->is_root() || op->has_control_edges() || op->HasSideEffect() ||
      op->shape().has_dynamic_dims())
    return nullptr;
  std::vector<Instruction*> operands;
  for (Instruction* operand : op->operands()) {
    if (!SameDimensions(operand->shape(), op->shape())) return nullptr;
    Instruction* part = rewriter.OpWithShape(
        Opcode::kSlice, slice->shape().WithElementType(operand->shape().element_type()), {operand},
        slice->attrs_ptr());
    operands.push_back(part);
  }
  rewriter.set_origin(op);
  return rewriter.OpWithShape(op->opcode(), slice->shape(), operands, op->attrs_ptr());
}

constexpr Rule kSliceRules[] = {
    {"slice-of-elementwise", Opcode::kSlice, kExact, SliceOperands},
};

}  // namespace

SliceHoister::SliceHoister() : RewritePass(this, kSliceRules) {}

HLO_DEFINE_PASS(SliceHoister)

}  // namespace hlo
