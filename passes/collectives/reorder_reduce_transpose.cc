#include "passes/collectives/reorder_reduce_transpose.h"

#include "lib/analysis/region.h"
#include "passes/collectives/carried_sums.h"

namespace hlo {
namespace {

// Whether a loop sums up `value` in its state or, by way of a reshape, puts it into a stack.
bool IsCarried(const Instruction& value) {
  if (!value.has_uses()) return false;
  const Instruction& reader = *value.uses()[0].user;
  if (reader.opcode() == Opcode::kReshape)
    return reader.has_uses() && reader.uses()[0].user->opcode() == Opcode::kDynamicUpdateSlice;
  return reader.opcode() == Opcode::kAdd &&
         (IsElementOfState(*reader.operand(0)) || IsElementOfState(*reader.operand(1)));
}

// transpose(convert(scatter(x)))  =>  scatter(transpose(convert(x))), with or without the convert
Instruction* TransposeFirst(Instruction* transpose, Rewriter& rewriter) {
  Instruction* const operand = transpose->operand(0);
  const Instruction* convert = operand->opcode() == Opcode::kConvert ? operand : nullptr;
  Instruction* const scatter = convert != nullptr ? operand->operand(0) : operand;
  if (scatter->opcode() != Opcode::kReduceScatter || !scatter->shape().IsArray() ||
      !IsReadOnceInAnyOrder(*scatter) || !IsReadOnceInAnyOrder(*operand) ||
      !IsBodyOfLoop(*transpose->parent()))
    return nullptr;
  if (!IsCarried(*transpose)) {
    rewriter.context().Missed(*transpose, "no loop carries it");
    return nullptr;
  }
  if (convert != nullptr && !MayConvertBefore(*convert, *scatter)) {
    rewriter.context().Missed(*convert, "the sum would be another");
    return nullptr;
  }
  Instruction* value = scatter->operand(0);
  Computation* region = scatter->to_apply();
  if (convert != nullptr) {
    const ElementType type = convert->shape().element_type();
    rewriter.set_origin(convert);
    value = rewriter.Convert(value, type);
    region = ScalarComputation(rewriter.module(), *CombinerOpcode(*region), type);
  }
  rewriter.set_origin(transpose);
  const DimVec order = transpose->attrs<TransposeAttrs>().dimensions;
  value = rewriter.Transpose(value, order);
  rewriter.set_origin(scatter);
  ReduceScatterAttrs attrs = scatter->attrs<ReduceScatterAttrs>();
  attrs.dimensions.value = absl::c_find(order, attrs.dimensions.value) - order.begin();
  return rewriter.OpWithShape(Opcode::kReduceScatter, transpose->shape(), {value},
                              AttrsPtr::Make(std::move(attrs)), {region});
}

constexpr Rule kTransposeRules[] = {
    {"transpose-first", Opcode::kTranspose, kReassociate, TransposeFirst}};

}  // namespace

ReorderReduceTranspose::ReorderReduceTranspose() : CollectiveRewritePass(this, kTransposeRules) {}

HLO_DEFINE_PASS(ReorderReduceTranspose)

}  // namespace hlo
