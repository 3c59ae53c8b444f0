#include "passes/util/start_vectors.h"

#include <algorithm>

namespace hlo {
namespace {

int64_t PositionIn(const DimVec& dims, int64_t dim) {
  const auto at = absl::c_find(dims, dim);
  return at == dims.end() ? -1 : at - dims.begin();
}

}  // namespace

StartVectors StartVectors::Of(Shape indices, int64_t index_vector_dim) {
  StartVectors vectors;
  vectors.index_vector_dim = index_vector_dim;
  for (int i = 0; i < indices.rank(); ++i) {
    if (i != index_vector_dim) vectors.batch_sizes.push_back(indices.dim(i));
  }
  return vectors;
}

Instruction* StartVectors::Canonical(Builder& builder, Instruction* indices) const {
  const int64_t indices_rank = indices->shape().rank();
  if (index_vector_dim < indices_rank && index_vector_dim != indices_rank - 1) {
    DimVec order;
    for (int64_t i = 0; i < indices_rank; ++i) {
      if (i != index_vector_dim) order.push_back(i);
    }
    order.push_back(index_vector_dim);
    indices = builder.Transpose(indices, order);
  }
  const DimVec sizes = {count(), static_cast<int64_t>(index_map.size())};
  const auto dims = indices->shape().dims();
  return std::equal(dims.begin(), dims.end(), sizes.begin(), sizes.end())
             ? indices
             : builder.Reshape(indices, sizes);
}

Instruction* StartVectors::WithVectorDimension(Builder& builder, Instruction* indices) const {
  const int dims_of_indices = indices->shape().rank();
  if (index_vector_dim != dims_of_indices || dims_of_indices == 1) return indices;
  DimVec wide(indices->shape().dims().begin(), indices->shape().dims().end());
  wide.push_back(1);
  return builder.Reshape(indices, wide);
}

Instruction* StartVectors::WideCanonical(Builder& builder, Instruction* indices) const {
  if (BitWidth(indices->shape().element_type()) < 32)
    indices = builder.Convert(indices, ElementType::kS32);
  return Canonical(builder, indices);
}

Instruction* ElementOfVector(Builder& builder, Instruction* vector, int64_t k) {
  return builder.Reshape(builder.Slice(vector, {k}, {k + 1}), {});
}

std::vector<Instruction*> ElementsOfVector(Builder& builder, Instruction* vector) {
  std::vector<Instruction*> elements;
  for (int64_t k = 0; vector != nullptr && k < vector->shape().dim(0); ++k)
    elements.push_back(ElementOfVector(builder, vector, k));
  return elements;
}

Instruction* StartVectors::Start(Builder& builder, Instruction* indices, Instruction* i) const {
  if (rank == 0) return nullptr;
  const ElementType type = indices->shape().element_type();
  const auto size = static_cast<int64_t>(index_map.size());
  Instruction* vector = nullptr;
  if (size > 0) {
    Instruction* zero = builder.Constant(Literal::Zero(ElementType::kS32));
    vector = builder.Reshape(builder.DynamicSlice(indices, {i, zero}, {1, size}), {size});
  }
  std::vector<Instruction*> parts;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (const int64_t k = PositionIn(index_map, dim); k >= 0) {
      parts.push_back(builder.Slice(vector, {k}, {k + 1}));
      continue;
    }
    const int64_t batch = PositionIn(operand_batching, dim);
    if (batch < 0) {
      parts.push_back(builder.Constant(Literal(Shape::Array(type, std::vector<int64_t>{1}))));
      continue;
    }
    // The coordinate of vector `i` along this dimension of the indices.
    const int64_t of_indices = indices_batching[static_cast<size_t>(batch)];
    const auto position = static_cast<size_t>(of_indices - (of_indices > index_vector_dim ? 1 : 0));
    int64_t stride = 1;
    for (size_t k = position + 1; k < batch_sizes.size(); ++k) stride *= batch_sizes[k];
    const auto number = [&](int64_t value) {
      return builder.Constant(Literal::Scalar<int64_t>(ElementType::kS32, value));
    };
    Instruction* coordinate =
        builder.Remainder(builder.Divide(i, number(stride)), number(batch_sizes[position]));
    if (type != ElementType::kS32) coordinate = builder.Convert(coordinate, type);
    parts.push_back(builder.Reshape(coordinate, {1}));
  }
  return builder.Concatenate(parts, 0);
}

}  // namespace hlo
