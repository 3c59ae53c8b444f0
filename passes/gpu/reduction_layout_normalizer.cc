#include "passes/gpu/reduction_layout_normalizer.h"

#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

// `result` with its dimensions in the order `kept`, each where it lay.
Shape Renumbered(Shape result, const DimVec& kept) {
  Layout layout = result.WithMissingLayoutsFilled().layout();
  const DimVec number = InversePermutation(kept);
  for (int64_t& d : layout.minor_to_major) d = number[static_cast<size_t>(d)];
  return Shape::Array(result.element_type(), Permute(result.dims(), kept)).WithLayout(layout);
}

}  // namespace

bool ReductionLayoutNormalizer::Matches(const Instruction& instruction) const {
  const Shape shape = instruction.operand(0)->shape();
  return !shape.has_dynamic_dims() && !LiesRowMajor(shape);
}

absl::StatusOr<Instruction*> ReductionLayoutNormalizer::Expand(Instruction* reduce,
                                                               Rewriter& rewriter) {
  const DimVec order = MajorToMinor(reduce->operand(0)->shape());
  const DimVec& reduced = reduce->attrs<ReduceAttrs>().dimensions;
  DimVec dims, kept;  // by new numbers; those of the result in their new order
  for (size_t i = 0; i < order.size(); ++i) {
    if (Contains(reduced, order[i])) {
      dims.push_back(static_cast<int64_t>(i));
    } else {
      kept.push_back(order[i] - absl::c_count_if(reduced, [&](int64_t d) { return d < order[i]; }));
    }
  }
  std::vector<Instruction*> inputs;
  std::vector<Shape> results;
  for (int i = 0; i < reduce->operand_count() / 2; ++i) {
    Instruction* const input = reduce->operand(i);
    if (MajorToMinor(input->shape()) != order) {
      return Error(reduce->loc(), "`{}` reduces `{}` and `{}`, which lie in different orders",
                   reduce->name(), reduce->operand(0)->shape(), input->shape());
    }
    inputs.push_back(rewriter.Bitcast(input, InMemoryOrder(input->shape())));
    inputs.back()->set_metadata(input->metadata());
    results.push_back(Renumbered(ResultOf(*reduce, i), kept));
  }
  return ReducedAs(*reduce, inputs, results, std::move(dims), rewriter);
}

HLO_DEFINE_PASS(ReductionLayoutNormalizer)

}  // namespace hlo
