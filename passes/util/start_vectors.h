// The index vectors of gather and scatter, one after the other.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// Which dimension of the operand each number of an index vector is for.
struct StartVectors {
  int64_t rank = 0;  // of the operand
  int64_t index_vector_dim = 0;
  DimVec index_map;         // dimension of the operand per number of the vector
  DimVec operand_batching;  // dimensions of the operand …
  DimVec indices_batching;  // … that are indexed by these of the indices
  DimVec batch_sizes;       // of the indices without the index vector

  static StartVectors Of(Shape indices, int64_t index_vector_dim);
  int64_t count() const { return Product(batch_sizes); }

  // With the dimension that vectors of one element leave out, which the simplifiers write before
  // they join the others, as XLA's do. (A list of numbers becomes canonical in one step.)
  Instruction* WithVectorDimension(Builder& builder, Instruction* indices) const;
  // The indices as [count, size of a vector].
  Instruction* Canonical(Builder& builder, Instruction* indices) const;
  // The same in a type that can hold every size: s32 for narrower ones.
  Instruction* WideCanonical(Builder& builder, Instruction* indices) const;
  // Where the slice of vector `i` of canonical `indices` starts: one number per dimension of the
  // operand; null for scalars.
  Instruction* Start(Builder& builder, Instruction* indices, Instruction* i) const;
};

// Element `k` of a vector as a scalar.
Instruction* ElementOfVector(Builder& builder, Instruction* vector, int64_t k);
std::vector<Instruction*> ElementsOfVector(Builder& builder, Instruction* vector);

}  // namespace hlo
