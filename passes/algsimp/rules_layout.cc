// Rules for fixed layouts: what moves no byte is a bitcast. Rooted at transpose, bitcast-convert
// and custom-call.
#include <algorithm>

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

// bitcast-convert(x) that moves no byte  =>  bitcast(x)
Instruction* BitcastConvertToBitcast(Instruction* convert, Rewriter& rewriter) {
  Instruction* x = convert->operand(0);
  const Shape from = x->shape();
  const Shape to = convert->shape();
  if (!IsDense(x) || !IsDense(convert) || IsSubByte(from.element_type()) ||
      IsSubByte(to.element_type()) || from.element_type() == ElementType::kPred ||
      to.element_type() == ElementType::kPred)
    return nullptr;
  if (from.rank() == to.rank()) {
    if (!(from.layout() == to.layout())) return nullptr;
    return rewriter.Bitcast(x, to);
  }
  // One more dimension, which must be the most minor one.
  const Shape wide = from.rank() > to.rank() ? from : to;
  const Shape narrow = from.rank() > to.rank() ? to : from;
  const auto& order = wide.layout().minor_to_major;
  if (wide.rank() != narrow.rank() + 1 || order[0] != narrow.rank() ||
      !std::equal(order.begin() + 1, order.end(), narrow.layout().minor_to_major.begin(),
                  narrow.layout().minor_to_major.end()))
    return nullptr;
  return rewriter.Bitcast(x, to);
}

// LayoutConstraint(x)  =>  x, or a copy in the wanted layout
Instruction* LayoutConstraint(Instruction* call, Rewriter& rewriter) {
  if (call->attrs<CustomCallAttrs>().custom_call_target != "LayoutConstraint" ||
      call->operand_count() != 1 || !Compatible(call->operand(0)->shape(), call->shape()))
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
constexpr Rule kBitcastConvertToBitcastRules[] = {
    {"bitcast-convert-to-bitcast", Opcode::kBitcastConvert, kExact, BitcastConvertToBitcast},
};

}  // namespace

std::span<const Rule> LayoutRules() { return kLayoutRules; }
std::span<const Rule> BitcastConvertToBitcastRules() { return kBitcastConvertToBitcastRules; }

}  // namespace hlo::algsimp
