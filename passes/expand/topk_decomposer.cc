#include "passes/expand/topk_decomposer.h"

#include "passes/util/topk_order.h"

namespace hlo {
namespace {

Instruction* FirstOf(Rewriter& b, Instruction* x, int64_t k) {
  const DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  limits.back() = k;
  return b.Slice(x, starts, limits);
}

Instruction* SortedPairs(Rewriter& b, Instruction* x, int64_t k, ElementType index,
                         Computation* order, bool is_stable) {
  const int64_t last = x->shape().rank() - 1;
  Instruction* places = b.Iota(x->shape().WithElementType(index), last);
  Instruction* sorted = b.Op(Opcode::kSort, {x, places},
                             AttrsPtr::Make(SortAttrs{BracedDim{last}, is_stable}), {order});
  return b.Tuple(
      {FirstOf(b, b.GetTupleElement(sorted, 0), k), FirstOf(b, b.GetTupleElement(sorted, 1), k)});
}

// Bits of f32 as integers in the order of the values; its own inverse.
Instruction* FlipNegative(Rewriter& b, Instruction* bits) {
  Instruction* flipped = b.Xor(bits, b.ConstantLike(bits, 0x7fffffff));
  return b.Select(b.Compare(bits, b.ZeroLike(bits), ComparisonDirection::kLt), flipped, bits);
}

Instruction* SortedPacked(Rewriter& b, Instruction* x, int64_t k) {
  const int64_t last = x->shape().rank() - 1;
  const Shape wide = x->shape().WithElementType(ElementType::kS32);
  Instruction* bits = b.BitcastConvert(b.Convert(x, ElementType::kF32), wide);
  Instruction* ordered = FlipNegative(b, bits);
  Instruction* low = b.ConstantLike(ordered, 0xffff);
  Instruction* packed = b.Xor(b.Or(ordered, low), b.Iota(wide, last));
  Computation* order = b.module().AddComputation("compare-greater-than");
  Builder inner(order);
  Instruction* lhs = inner.Parameter(0, Shape::Scalar(ElementType::kS32), "p.0.lhs");
  Instruction* rhs = inner.Parameter(1, Shape::Scalar(ElementType::kS32), "p.0.rhs");
  order->set_root(inner.Compare(lhs, rhs, ComparisonDirection::kGt));
  Instruction* sorted =
      b.Op(Opcode::kSort, {packed}, AttrsPtr::Make(SortAttrs{BracedDim{last}, false}), {order});
  Instruction* first = FirstOf(b, sorted, k);
  Instruction* mask = b.ConstantLike(first, 0xffff);
  Instruction* indices = b.Xor(b.And(first, mask), mask);
  Instruction* restored = FlipNegative(b, b.Or(first, mask));
  Instruction* value_bits = b.And(restored, b.Not(mask));
  Instruction* values =
      b.BitcastConvert(value_bits, first->shape().WithElementType(ElementType::kF32));
  return b.Tuple({b.Convert(values, ElementType::kBF16), indices});
}

bool IsStable(const Instruction& topk) {
  if (topk.opcode() == Opcode::kTopK) return topk.attrs<TopKAttrs>().is_stable;
  return topk.backend_config().find("is_stable = false") == std::string_view::npos;
}

bool ReadsValuesOnly(const Instruction& call) {
  return !call.is_root() && absl::c_all_of(call.uses(), [](const Use& use) {
    return use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() == 0;
  });
}

}  // namespace

bool TopkDecomposer::Matches(const Instruction& instruction) const { return IsTopk(instruction); }

absl::StatusOr<Instruction*> TopkDecomposer::Expand(Instruction* instruction, Rewriter& rewriter) {
  Instruction* x = instruction->operand(0);
  const ElementType index = instruction->shape().element(1).element_type();
  const int64_t k = instruction->shape().element(0).dims().back();
  const bool is_stable = IsStable(*instruction);
  Computation* const value_order =
      ReadsValuesOnly(*instruction) && !instruction->has_control_edges()
          ? TopkValueOrder(*instruction)
          : nullptr;
  if (value_order != nullptr) {
    const int64_t last = x->shape().rank() - 1;
    Instruction* sorted = rewriter.Op(
        Opcode::kSort, {x}, AttrsPtr::Make(SortAttrs{BracedDim{last}, is_stable}), {value_order});
    Instruction* first = FirstOf(rewriter, sorted, k);
    RETURN_IF_ERROR(rewriter.status());
    for (Instruction* element : instruction->users())
      rewriter.computation()->Replace(element, first);
    rewriter.computation()->Remove(instruction);
    return nullptr;
  }
  if (instruction->opcode() == Opcode::kTopK && instruction->attrs<TopKAttrs>().largest &&
      x->shape().element_type() == ElementType::kBF16 && index == ElementType::kS32 &&
      x->shape().dims().back() < 65536)
    return SortedPacked(rewriter, x, k);
  return SortedPairs(rewriter, x, k, index, TopkOrder(*instruction), is_stable);
}

HLO_DEFINE_PASS(TopkDecomposer)

}  // namespace hlo
