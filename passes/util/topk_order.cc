#include "passes/util/topk_order.h"

#include "lib/ir/builder.h"
#include "lib/ir/custom_call.h"

namespace hlo {
namespace {

// Of values, or of pairs with an `index`.
Computation* OrderComputation(Module& module, ElementType value, std::optional<ElementType> index,
                              bool largest) {
  Computation* order =
      module.AddComputation(largest ? "compare-greater-than" : "compare-less-than");
  Builder b(order);
  Instruction* lhs = b.Parameter(0, Shape::Scalar(value), "p.0.lhs");
  Instruction* rhs = b.Parameter(1, Shape::Scalar(value), "p.0.rhs");
  if (index) {
    b.Parameter(2, Shape::Scalar(*index), "p.1.lhs");
    b.Parameter(3, Shape::Scalar(*index), "p.1.rhs");
  }
  CompareAttrs attrs;
  attrs.direction = largest ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  if (IsFloat(value)) attrs.type = ComparisonType::kTotalOrder;
  order->set_root(b.Op(Opcode::kCompare, {lhs, rhs}, AttrsPtr::Make(std::move(attrs))));
  return order;
}

// The first elements of the last dimension of `x`, and an integer for each.
bool IsCutOf(const Shape& x, const Shape& values, const Shape& places) {
  if (!x.IsArray() || !values.IsArray() || !places.IsArray() || x.rank() == 0 ||
      values.rank() != x.rank() || !IsInteger(places.element_type()) ||
      values.element_type() != x.element_type() || !SameDimensions(values, places))
    return false;
  const int last = x.rank() - 1;
  for (int i = 0; i < last; ++i) {
    if (values.dim(i) != x.dim(i)) return false;
  }
  return values.dim(last) <= x.dim(last);
}

}  // namespace

bool IsTopk(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTopK)
    return !instruction.operand(0)->shape().has_dynamic_dims();
  return IsCustomCall(instruction, "TopK") && instruction.call_count() == 1 &&
         instruction.operand_count() == 1 && instruction.shape().IsTuple() &&
         instruction.shape().element_count_of_tuple() == 2 &&
         IsCutOf(instruction.operand(0)->shape(), instruction.shape().element(0),
                 instruction.shape().element(1)) &&
         !instruction.operand(0)->shape().has_dynamic_dims();
}

Computation* TopkOrder(const Instruction& topk) {
  Module& module = topk.module();
  const ElementType index = topk.shape().element(1).element_type();
  if (topk.opcode() == Opcode::kTopK) {
    return OrderComputation(module, topk.operand(0)->shape().element_type(), index,
                            topk.attrs<TopKAttrs>().largest);
  }
  Computation* const order = topk.call(0);
  if (order->parameter_count() != 2) return order;
  Computation* const wider = module.CloneComputation(*order, ".clone", /*deep=*/false);
  wider->AddParameter(2, Shape::Scalar(index), "p.1.lhs");
  wider->AddParameter(3, Shape::Scalar(index), "p.1.rhs");
  return wider;
}

Computation* TopkValueOrder(const Instruction& topk) {
  if (topk.opcode() == Opcode::kTopK) {
    return OrderComputation(topk.module(), topk.operand(0)->shape().element_type(), std::nullopt,
                            topk.attrs<TopKAttrs>().largest);
  }
  Computation* const order = topk.call(0);
  return order->parameter_count() == 2 ? order : nullptr;
}

}  // namespace hlo
