// Rules for fixed layouts: what moves no byte is a bitcast. Rooted at transpose and custom-call.
#include "lib/ir/custom_call.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// transpose(x) that moves no byte  =>  bitcast(x)
Instruction* TransposeToBitcast(Instruction* transpose, Rewriter& rewriter) {
  Instruction* x = transpose->operand(0);
  if (!IsDense(x) || !IsDense(transpose) ||
      !TransposeIsBitcast(x->shape(), transpose->shape(), TransposeOrder(transpose)))
    return nullptr;
  return rewriter.Bitcast(x, transpose->shape());
}

// LayoutConstraint(x)  =>  x, or a copy in the wanted layout
Instruction* LayoutConstraint(Instruction* call, Rewriter& rewriter) {
  if (!IsCustomCall(*call, "LayoutConstraint") || call->operand_count() != 1 ||
      !Compatible(call->operand(0)->shape(), call->shape()))
    return nullptr;
  Instruction* x = call->operand(0);
  if (x->shape() == call->shape()) return x;
  return call->shape().IsArray() ? rewriter.OpWithShape(Opcode::kCopy, call->shape(), {x})
                                 : nullptr;
}

constexpr Rule kLayoutRules[] = {
    {"transpose-to-bitcast", Opcode::kTranspose, kExact, TransposeToBitcast},
    {"layout-constraint", Opcode::kCustomCall, kExact, LayoutConstraint},
};

}  // namespace

std::span<const Rule> LayoutRules() { return kLayoutRules; }

}  // namespace hlo::algsimp
