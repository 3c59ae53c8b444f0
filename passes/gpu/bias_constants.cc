#include "passes/gpu/bias_constants.h"

#include "lib/eval/evaluator.h"

namespace hlo {
namespace {

constexpr int64_t kMostBytes = 8 << 20;
constexpr OpcodeSet kMoves = {Opcode::kReshape, Opcode::kTranspose, Opcode::kBitcast};

bool IsRepeatedConstant(const Instruction& bias) {
  const Instruction* from = &bias;
  while (kMoves.Has(from->opcode()) &&
         from->shape().element_type() == from->operand(0)->shape().element_type())
    from = from->operand(0);
  if (from->opcode() != Opcode::kBroadcast || !from->operand(0)->IsConstant()) return false;
  const Instruction& constant = *from->operand(0);
  return !constant.shape().IsEffectiveScalar() && !constant.literal().is_elided();
}

absl::StatusOr<Literal> ValueOf(const Instruction& value, Evaluator& evaluator) {
  if (value.IsConstant()) return value.literal();
  ASSIGN_OR_RETURN(const Literal operand, ValueOf(*value.operand(0), evaluator));
  return evaluator.EvaluateInstruction(value, {operand});
}

}  // namespace

absl::StatusOr<Instruction*> WrittenOut(Instruction* bias, Rewriter& b) {
  if (bias->shape().byte_size() > kMostBytes || bias->shape().has_dynamic_dims() ||
      !IsRepeatedConstant(*bias))
    return bias;
  Evaluator evaluator;
  ASSIGN_OR_RETURN(const Literal value, ValueOf(*bias, evaluator));
  Instruction* const constant = b.Constant(value.WithShapeLayout(bias->shape()));
  if (!bias->is_used() && !bias->is_root() && !bias->has_control_edges())
    bias->parent()->RemoveUnused(bias);
  return constant;
}

}  // namespace hlo
