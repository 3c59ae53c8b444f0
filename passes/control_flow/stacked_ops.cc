#include "passes/control_flow/stacked_ops.h"

#include <numeric>

#include "passes/util/origins.h"
#include "passes/util/scheduling_annotation.h"

namespace hlo {
namespace {

DimVec Prepended(int64_t first, absl::Span<const int64_t> rest, int64_t shift) {
  DimVec result = {first};
  for (const int64_t value : rest) result.push_back(value + shift);
  return result;
}

template <class A>
AttrsPtr WithLaterDimension(const Instruction& op) {
  A attrs = op.attrs<A>();
  ++attrs.dimensions.value;
  return AttrsPtr::Make(std::move(attrs));
}

}  // namespace

Shape StackedOps::StackedShape(Shape shape) const {
  return Shape::Array(shape.element_type(), Prepended(count_, shape.dims(), 0));
}

Instruction* StackedOps::Stacked(const Instruction* value) {
  const auto at = stacked_.find(value);
  if (at != stacked_.end()) return at->second;
  DimVec dims(static_cast<size_t>(value->shape().rank()));
  absl::c_iota(dims, 1);
  Instruction* const result =
      b_.OpWithShape(Opcode::kBroadcast, StackedShape(value->shape()), {same_.at(value)},
                     AttrsPtr::Make(BroadcastAttrs{dims}));
  stacked_[value] = result;
  return result;
}

Instruction* StackedOps::ElementwiseOperand(const Instruction& op, int i) {
  const Instruction* operand = op.operand(i);
  // The scalars of select and clamp go with all elements; those of iterations with their slices.
  if (operand->shape().rank() == op.shape().rank()) return Stacked(operand);
  if (!IsStacked(operand)) return same_.at(operand);
  const Shape whole = StackedShape(op.shape()).WithElementType(operand->shape().element_type());
  return b_.OpWithShape(Opcode::kBroadcast, whole, {Stacked(operand)},
                        AttrsPtr::Make(BroadcastAttrs{{0}}));
}

std::vector<Instruction*> StackedOps::OperandsOf(const Instruction& op) {
  std::vector<Instruction*> operands;
  if (op.opcode() == Opcode::kDynamicSlice) {
    operands.push_back(Stacked(op.operand(0)));
    if (op.operand_count() > 1)
      operands.push_back(b_.Constant(Literal::Zero(op.operand(1)->shape().element_type())));
    for (int i = 1; i < op.operand_count(); ++i) operands.push_back(SameOperand(op, i));
    return operands;
  }
  for (int i = 0; i < op.operand_count(); ++i) {
    const bool is_setting =
        i > 0 && (op.opcode() == Opcode::kReduce || op.opcode() == Opcode::kPad);
    if (is_setting) {
      operands.push_back(SameOperand(op, i));
    } else {
      operands.push_back(IsElementwise(op.opcode()) ? ElementwiseOperand(op, i)
                                                    : Stacked(op.operand(i)));
    }
  }
  return operands;
}

AttrsPtr StackedOps::AttrsOf(const Instruction& op) const {
  const AttrsPtr& attrs = op.attrs_ptr();
  if (attrs.Is<AllGatherAttrs>()) return WithLaterDimension<AllGatherAttrs>(op);
  if (attrs.Is<ReduceScatterAttrs>()) return WithLaterDimension<ReduceScatterAttrs>(op);
  if (attrs.Is<ConcatenateAttrs>()) return WithLaterDimension<ConcatenateAttrs>(op);
  if (attrs.Is<BroadcastAttrs>())
    return AttrsPtr::Make(BroadcastAttrs{Prepended(0, op.attrs<BroadcastAttrs>().dimensions, 1)});
  if (attrs.Is<TransposeAttrs>())
    return AttrsPtr::Make(TransposeAttrs{Prepended(0, op.attrs<TransposeAttrs>().dimensions, 1)});
  if (attrs.Is<ReduceAttrs>()) {
    ReduceAttrs moved = op.attrs<ReduceAttrs>();
    for (int64_t& dimension : moved.dimensions) ++dimension;
    return AttrsPtr::Make(std::move(moved));
  }
  if (attrs.Is<DynamicSliceAttrs>())
    return AttrsPtr::Make(
        DynamicSliceAttrs{Prepended(count_, op.attrs<DynamicSliceAttrs>().dynamic_slice_sizes, 0)});
  if (attrs.Is<SliceAttrs>()) {
    SliceAttrs wide = op.attrs<SliceAttrs>();
    wide.slice.insert(wide.slice.begin(), {0, count_, 1});
    return AttrsPtr::Make(std::move(wide));
  }
  if (attrs.Is<PadAttrs>()) {
    PadAttrs wide = op.attrs<PadAttrs>();
    wide.padding.dims.insert(wide.padding.dims.begin(), PaddingDim());
    return AttrsPtr::Make(std::move(wide));
  }
  if (attrs.Is<ReshapeAttrs>()) return AttrsPtr::Make(ReshapeAttrs());
  return attrs;
}

Instruction* StackedOps::Copy(const Instruction& op, Shape shape,
                              const std::vector<Instruction*>& operands) {
  Instruction* const copy = b_.computation()->AddClone(op, shape, operands);
  copy->set_loc(op.loc());
  // It is none of the values of the program, and belongs to no iteration.
  SetOrigin(copy, nullptr);
  if (HasSchedulingAnnotation(*copy)) RemoveSchedulingAnnotation(copy);
  return copy;
}

void StackedOps::Add(const Instruction& op) {
  if (IsStacked(&op) || same_.contains(&op)) return;
  const auto operands = op.operands();
  if (absl::c_none_of(operands, [&](const Instruction* operand) { return IsStacked(operand); })) {
    std::vector<Instruction*> same;
    for (const Instruction* operand : operands) same.push_back(same_.at(operand));
    SetSame(&op, Copy(op, op.shape(), same));
    return;
  }
  Instruction* const stacked = Copy(op, StackedShape(op.shape()), OperandsOf(op));
  stacked->SetAttrsPtr(AttrsOf(op));
  SetStacked(&op, stacked);
}

}  // namespace hlo
