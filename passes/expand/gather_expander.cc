#include "passes/expand/gather_expander.h"

#include <algorithm>
#include <limits>

#include "lib/support/contains.h"
#include "passes/util/counted_loop.h"
#include "passes/util/start_vectors.h"

namespace hlo {
namespace {

bool SlicesAreWholeOperand(const Instruction& gather) {
  const auto dims = gather.operand(0)->shape().dims();
  const DimVec& sizes = gather.attrs<GatherAttrs>().slice_sizes;
  return std::equal(dims.begin(), dims.end(), sizes.begin(), sizes.end());
}

StartVectors VectorsOf(const Instruction& gather) {
  const auto& attrs = gather.attrs<GatherAttrs>();
  StartVectors vectors = StartVectors::Of(gather.operand(1)->shape(), attrs.index_vector_dim);
  vectors.rank = gather.operand(0)->shape().rank();
  vectors.index_map = attrs.start_index_map;
  vectors.operand_batching = attrs.operand_batching_dims;
  vectors.indices_batching = attrs.start_indices_batching_dims;
  return vectors;
}

// Sizes of a slice without the dimensions that the result does not have.
DimVec WindowSizes(const GatherAttrs& attrs) {
  DimVec sizes;
  for (size_t i = 0; i < attrs.slice_sizes.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (!Contains(attrs.collapsed_slice_dims, dim) && !Contains(attrs.operand_batching_dims, dim))
      sizes.push_back(attrs.slice_sizes[i]);
  }
  return sizes;
}

}  // namespace

bool GatherExpander::Matches(const Instruction& instruction) const {
  if (instruction.shape().IsZeroSized() || instruction.shape().has_dynamic_dims() ||
      instruction.operand(0)->shape().has_dynamic_dims() ||
      instruction.operand(1)->shape().has_dynamic_dims())
    return false;
  return !options_.simple || SlicesAreWholeOperand(instruction) ||
         VectorsOf(instruction).count() == 1;
}

absl::StatusOr<Instruction*> GatherExpander::Expand(Instruction* gather, Rewriter& rewriter) {
  const auto& attrs = gather->attrs<GatherAttrs>();
  Instruction* operand = gather->operand(0);
  // Slices of nothing have no elements to put in order.
  if (Contains(attrs.slice_sizes, 0)) return rewriter.ZeroLike(gather);
  const DimVec window = WindowSizes(attrs);
  if (SlicesAreWholeOperand(*gather)) {
    return rewriter.Broadcast(rewriter.Reshape(operand, window), gather->shape().dims(),
                              attrs.offset_dims);
  }
  const StartVectors vectors = VectorsOf(*gather);
  if (vectors.count() > std::numeric_limits<int32_t>::max()) {
    return Unsupported(gather->loc(), "`{}` gathers {} slices, a loop can count to {}",
                       gather->name(), vectors.count(), std::numeric_limits<int32_t>::max());
  }
  DimVec row = {1};
  row.insert(row.end(), window.begin(), window.end());
  DimVec all = row;
  all[0] = vectors.count();
  Instruction* rows =
      rewriter.Broadcast(rewriter.Constant(Literal::Zero(gather->shape().element_type())), all, {});
  Instruction* indices = vectors.WideCanonical(rewriter, gather->operand(1));
  const CountedLoopBody body = [&](Builder& b, Instruction* i,
                                   const std::vector<Instruction*>& state) {
    Instruction* start = vectors.Start(b, state[1], i);
    Instruction* slice =
        start == nullptr ? state[0]
                         : b.DynamicSlice(state[0], ElementsOfVector(b, start), attrs.slice_sizes);
    std::vector<Instruction*> place = {i};
    for (size_t k = 1; k < row.size(); ++k)
      place.push_back(b.Constant(Literal::Zero(ElementType::kS32)));
    return std::vector<Instruction*>{state[0], state[1],
                                     b.DynamicUpdateSlice(state[2], b.Reshape(slice, row), place)};
  };
  ASSIGN_OR_RETURN(const std::vector<Instruction*> after,
                   MakeCountedLoop(rewriter, static_cast<int32_t>(vectors.count()),
                                   {operand, indices, rows}, body, "gather", gather));
  // Batch dimensions first, then those of the window; each to its place in the result.
  DimVec sizes = vectors.batch_sizes;
  sizes.insert(sizes.end(), window.begin(), window.end());
  DimVec order;
  int64_t next_batch = 0;
  auto next_offset = static_cast<int64_t>(vectors.batch_sizes.size());
  for (int64_t dim = 0; dim < gather->shape().rank(); ++dim)
    order.push_back(Contains(attrs.offset_dims, dim) ? next_offset++ : next_batch++);
  Instruction* result = rewriter.Reshape(after[2], sizes);
  return absl::c_is_sorted(order) ? result : rewriter.Transpose(result, order);
}

HLO_DEFINE_PASS(GatherExpander)

}  // namespace hlo
