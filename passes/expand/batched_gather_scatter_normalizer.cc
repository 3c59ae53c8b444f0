#include "passes/expand/batched_gather_scatter_normalizer.h"

#include <algorithm>

#include "lib/types/dim_lists.h"

namespace hlo {
namespace {

const Instruction& IndicesOf(const Instruction& instruction) {
  return *instruction.operand(
      instruction.opcode() == Opcode::kGather ? 1 : instruction.operand_count() / 2);
}

// `indices` with the place along each of `batching` before each index vector.
Instruction* WithBatchIndices(Instruction* indices, int64_t& vector_dim, const DimVec& batching,
                              Rewriter& b) {
  int64_t largest = 0;
  for (const int64_t d : batching)
    largest = std::max(largest, indices->shape().dim(static_cast<int>(d)));
  const ElementType type = indices->shape().element_type();
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  if (bits < 31 && largest > int64_t{1} << bits) indices = b.Convert(indices, ElementType::kS32);
  std::vector<int64_t> sizes(indices->shape().dims().begin(), indices->shape().dims().end());
  if (vector_dim == indices->shape().rank()) {  // an index is a scalar
    sizes.push_back(1);
    indices = b.Reshape(indices, sizes);
  }
  const auto vector = static_cast<size_t>(vector_dim);
  std::vector<Instruction*> parts;
  for (const int64_t d : batching) {
    sizes[vector] = 1;
    parts.push_back(b.Iota(Shape::Array(indices->shape().element_type(), sizes), d));
  }
  parts.push_back(indices);
  return b.Concatenate(parts, vector_dim);
}

DimVec Sorted(DimVec dims) {
  absl::c_sort(dims);
  return dims;
}

Instruction* NormalizedGather(Instruction* gather, Rewriter& b) {
  GatherAttrs attrs = gather->attrs<GatherAttrs>();
  Instruction* indices = WithBatchIndices(gather->operand(1), attrs.index_vector_dim,
                                          attrs.start_indices_batching_dims, b);
  attrs.start_index_map = Joined({attrs.operand_batching_dims, attrs.start_index_map});
  attrs.collapsed_slice_dims =
      Sorted(Joined({attrs.collapsed_slice_dims, attrs.operand_batching_dims}));
  attrs.operand_batching_dims.clear();
  attrs.start_indices_batching_dims.clear();
  attrs.indices_are_sorted = false;
  return b.OpWithShape(Opcode::kGather, gather->shape(), {gather->operand(0), indices},
                       AttrsPtr::Make(std::move(attrs)));
}

Instruction* NormalizedScatter(Instruction* scatter, Rewriter& b) {
  ScatterAttrs attrs = scatter->attrs<ScatterAttrs>();
  const auto at = static_cast<size_t>(scatter->operand_count() / 2);
  std::vector<Instruction*> operands = scatter->operand_vector();
  operands[at] = WithBatchIndices(operands[at], attrs.index_vector_dim,
                                  attrs.scatter_indices_batching_dims, b);
  attrs.scatter_dims_to_operand_dims =
      Joined({attrs.input_batching_dims, attrs.scatter_dims_to_operand_dims});
  attrs.inserted_window_dims =
      Sorted(Joined({attrs.inserted_window_dims, attrs.input_batching_dims}));
  attrs.input_batching_dims.clear();
  attrs.scatter_indices_batching_dims.clear();
  attrs.indices_are_sorted = false;
  return b.OpWithShape(Opcode::kScatter, scatter->shape(), operands,
                       AttrsPtr::Make(std::move(attrs)), {scatter->to_apply()});
}

}  // namespace

bool BatchedGatherScatterNormalizer::Matches(const Instruction& instruction) const {
  if (IndicesOf(instruction).shape().has_dynamic_dims()) return false;
  return instruction.opcode() == Opcode::kGather
             ? !instruction.attrs<GatherAttrs>().operand_batching_dims.empty()
             : !instruction.attrs<ScatterAttrs>().input_batching_dims.empty();
}

absl::StatusOr<Instruction*> BatchedGatherScatterNormalizer::Expand(Instruction* instruction,
                                                                    Rewriter& rewriter) {
  return instruction->opcode() == Opcode::kGather ? NormalizedGather(instruction, rewriter)
                                                  : NormalizedScatter(instruction, rewriter);
}

HLO_DEFINE_PASS(BatchedGatherScatterNormalizer)

}  // namespace hlo
