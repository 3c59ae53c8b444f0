#include "passes/layout/reduce_decomposer.h"

#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

// The order of the kept dimensions in the layout of input `i`, numbered as in the result.
std::optional<DimVec> KeptOrder(const Instruction& reduce, int i) {
  const Layout* layout = reduce.operand(i)->shape().layout_or_null();
  if (layout == nullptr) return std::nullopt;
  const DimVec& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  DimVec order;
  for (const int64_t d : layout->minor_to_major) {
    if (absl::c_linear_search(reduced, d)) continue;
    order.push_back(d - absl::c_count_if(reduced, [&](int64_t r) { return r < d; }));
  }
  return order;
}

// Whether all inputs lie as the first one.
bool LieAlike(const Instruction& reduce) {
  const Layout* first = reduce.operand(0)->shape().layout_or_null();
  for (int i = 1; i < reduce.operand_count() / 2; ++i) {
    const Layout* layout = reduce.operand(i)->shape().layout_or_null();
    if (first == nullptr || layout == nullptr || layout->minor_to_major != first->minor_to_major)
      return false;
  }
  return true;
}

Shape WithKeptOrder(Shape shape, const DimVec& order) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      shape = shape.WithElement(i, WithKeptOrder(shape.element(i), order));
    return shape;
  }
  const Layout* old = shape.layout_or_null();
  if (old == nullptr) return shape;
  Layout layout = *old;
  layout.minor_to_major = order;
  return shape.WithLayout(layout);
}

}  // namespace

bool ReduceDecomposer::Matches(const Instruction& instruction) const {
  const std::optional<DimVec> order = KeptOrder(instruction, 0);
  if (!order) return false;
  for (int i = 1; i < instruction.operand_count() / 2; ++i) {
    if (instruction.operand(i)->shape().layout_or_null() == nullptr) return false;
  }
  return !LieAlike(instruction) ||
         !(WithKeptOrder(instruction.shape(), *order) == instruction.shape());
}

absl::StatusOr<Instruction*> ReduceDecomposer::Expand(Instruction* reduce, Rewriter& rewriter) {
  std::vector<Instruction*> operands = reduce->operand_vector();
  for (size_t i = 1; i < operands.size() / 2; ++i) {
    Layout layout = *operands[i]->shape().layout_or_null();
    layout.minor_to_major = operands[0]->shape().layout_or_null()->minor_to_major;
    operands[i] = CopyWithLayouts(operands[i], operands[i]->shape().WithLayout(layout));
  }
  Instruction* natural =
      rewriter.OpWithShape(Opcode::kReduce, WithKeptOrder(reduce->shape(), *KeptOrder(*reduce, 0)),
                           operands, reduce->attrs_ptr(), {reduce->to_apply()});
  RETURN_IF_ERROR(rewriter.status());
  if (!reduce->shape().IsArray() || !reduce->has_one_user() || reduce->is_root() ||
      reduce->uses()[0].user->opcode() != Opcode::kConvert || reduce->has_control_edges())
    return CopyWithLayouts(natural, reduce->shape());
  // A conversion stays beside the reduction; the copy follows it.
  Instruction* const convert = reduce->uses()[0].user;
  const uint32_t first_new = rewriter.module().id_limit();
  rewriter.set_origin(convert);
  Instruction* const converted = rewriter.OpWithShape(
      Opcode::kConvert, natural->shape().WithElementType(convert->shape().element_type()),
      {natural});
  RETURN_IF_ERROR(rewriter.status());
  ReplaceKeepingExtras(convert, CopyWithLayouts(converted, convert->shape()), first_new);
  rewriter.computation()->Remove(reduce);
  return nullptr;
}

HLO_DEFINE_PASS(ReduceDecomposer)

}  // namespace hlo
