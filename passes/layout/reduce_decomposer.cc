#include "passes/layout/reduce_decomposer.h"

#include <algorithm>

#include "passes/layout_copy.h"

namespace hlo {
namespace {

// The order of the kept dimensions in the layout of input `i`, numbered as in the result.
std::optional<DimVec> KeptOrder(const Instruction& reduce, int i) {
  const Layout* layout = reduce.operand(i)->shape().layout_or_null();
  if (layout == nullptr) return std::nullopt;
  const DimVec& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  DimVec order;
  for (const int64_t d : layout->minor_to_major) {
    if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) continue;
    order.push_back(
        d - std::count_if(reduced.begin(), reduced.end(), [&](int64_t r) { return r < d; }));
  }
  return order;
}

std::optional<DimVec> CommonOrder(const Instruction& reduce) {
  const std::optional<DimVec> order = KeptOrder(reduce, 0);
  for (int i = 1; i < reduce.operand_count() / 2; ++i) {
    if (KeptOrder(reduce, i) != order) return std::nullopt;
  }
  return order;
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
  const std::optional<DimVec> order = CommonOrder(instruction);
  return order && !(WithKeptOrder(instruction.shape(), *order) == instruction.shape());
}

absl::StatusOr<Instruction*> ReduceDecomposer::Expand(Instruction* reduce, Rewriter& rewriter) {
  Instruction* natural =
      rewriter.OpWithShape(Opcode::kReduce, WithKeptOrder(reduce->shape(), *CommonOrder(*reduce)),
                           reduce->operand_vector(), reduce->attrs_ptr(), {reduce->to_apply()});
  RETURN_IF_ERROR(rewriter.status());
  return CopyWithLayouts(natural, reduce->shape());
}

HLO_DEFINE_PASS(ReduceDecomposer)

}  // namespace hlo
