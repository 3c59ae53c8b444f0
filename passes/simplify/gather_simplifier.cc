#include "passes/simplify/gather_simplifier.h"

#include <algorithm>
#include <numeric>

#include "passes/util/start_vectors.h"

namespace hlo {
namespace {

bool CountsFrom(const DimVec& dims, int64_t first, int64_t size) {
  if (static_cast<int64_t>(dims.size()) != size) return false;
  for (int64_t i = 0; i < size; ++i) {
    if (dims[static_cast<size_t>(i)] != first + i) return false;
  }
  return true;
}

bool IsSimpleGather(const Instruction& gather) {
  const auto& attrs = gather.attrs<GatherAttrs>();
  return gather.operand(1)->shape().rank() == 2 && attrs.index_vector_dim == 1 &&
         attrs.collapsed_slice_dims.empty() &&
         CountsFrom(attrs.offset_dims, 1, gather.operand(0)->shape().rank());
}

Instruction* TransposedIfNeeded(Builder& builder, Instruction* x, const DimVec& order) {
  return absl::c_is_sorted(order) ? x : builder.Transpose(x, order);
}

}  // namespace

bool GatherSimplifier::Matches(const Instruction& instruction) const {
  return !instruction.shape().has_dynamic_dims() &&
         !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.operand(1)->shape().has_dynamic_dims() &&
         instruction.attrs<GatherAttrs>().operand_batching_dims.empty() &&
         (!IsSimpleGather(instruction) || instruction.operand(0)->shape().IsScalar());
}

absl::StatusOr<Instruction*> GatherSimplifier::Expand(Instruction* gather, Rewriter& rewriter) {
  const auto& attrs = gather->attrs<GatherAttrs>();
  // Slices of nothing, which cannot be put in order, are zeros; a scalar is all its slices.
  if (absl::c_linear_search(attrs.slice_sizes, 0)) return rewriter.ZeroLike(gather);
  if (gather->operand(0)->shape().IsScalar())
    return rewriter.Broadcast(gather->operand(0), gather->shape().dims(), {});
  const int64_t rank = gather->operand(0)->shape().rank();
  StartVectors vectors = StartVectors::Of(gather->operand(1)->shape(), attrs.index_vector_dim);
  vectors.index_map = attrs.start_index_map;
  Instruction* indices =
      vectors.Canonical(rewriter, vectors.WithVectorDimension(rewriter, gather->operand(1)));
  GatherAttrs simple = attrs;
  simple.collapsed_slice_dims.clear();
  simple.offset_dims.resize(static_cast<size_t>(rank));
  absl::c_iota(simple.offset_dims, 1);
  simple.index_vector_dim = 1;
  Instruction* slices = rewriter.Op(Opcode::kGather, {gather->operand(0), indices},
                                    AttrsPtr::Make(std::move(simple)));
  PassOnFrontendAttributes(*gather, slices);
  // Without the dimensions that are collapsed; with those of the indices; in the order
  // of the result.
  DimVec window;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!absl::c_linear_search(attrs.collapsed_slice_dims, dim))
      window.push_back(attrs.slice_sizes[static_cast<size_t>(dim)]);
  }
  for (const DimVec& batch : {DimVec{vectors.count()}, vectors.batch_sizes}) {
    DimVec sizes = batch;
    sizes.insert(sizes.end(), window.begin(), window.end());
    const auto dims = slices->shape().dims();
    if (!std::equal(dims.begin(), dims.end(), sizes.begin(), sizes.end()))
      slices = rewriter.Reshape(slices, sizes);
  }
  DimVec places;
  int64_t next_batch = 0;
  auto next_offset = static_cast<int64_t>(vectors.batch_sizes.size());
  for (int64_t dim = 0; dim < gather->shape().rank(); ++dim) {
    const bool offset = absl::c_linear_search(attrs.offset_dims, dim);
    places.push_back(offset ? next_offset++ : next_batch++);
  }
  return TransposedIfNeeded(rewriter, slices, places);
}

HLO_DEFINE_PASS(GatherSimplifier)

}  // namespace hlo
