// Which dimensions of operands and results run along with each other, as data: what a sharding of
// the one says of the other is MapDims by one of these maps.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "lib/ir/module.h"
#include "passes/util/sharding_algebra.h"

namespace hlo {

// Of transpose, broadcast and reduce: from operand `operand` to the result. Dimensions that are
// reduced go nowhere.
DimMap OperandToResult(const Instruction& instruction, int operand);

// The map that takes from[i] to to[i] and nothing else, of an array of `rank` dimensions.
DimMap MapOfPairs(absl::Span<const int64_t> from, absl::Span<const int64_t> to, int64_t rank);

// ---- products: dot, and convolutions as far as they are dots ----
enum class ProductSide { kLeft, kRight, kResult };

struct ProductDims {
  enum class Role { kBatch, kContracting, kLeft, kRight, kSpatial };
  struct Row {
    Role role;
    std::array<int64_t, 3> dim;  // by side; -1: it has none
  };
  std::vector<Row> rows;
  std::array<int64_t, 3> rank;

  bool Has(Role role) const;
  // Along the dimensions of these roles.
  DimMap Map(ProductSide from, ProductSide to, std::initializer_list<Role> roles) const;
};
ProductDims DimsOfDot(const Instruction& dot);
// A spatial dimension is a batch, contracting or free one where the window says so.
ProductDims DimsOfConvolution(const Instruction& convolution);

// ---- gather and scatter; the "result" of a scatter is its updates ----
struct IndexedDims {
  const Instruction* operand;  // the first one of a scatter
  const Instruction* indices;
  Shape result;
  DimVec window;     // dimensions of the result that run over a slice
  DimVec collapsed;  // dimensions of the operand that the result has not
  DimVec operand_batch;
  DimVec indices_batch;
  DimVec index_map;  // dimension of the operand, by place in an index
  int64_t index_vector_dim;
  DimVec slice_sizes;

  DimMap IndicesToResult() const;
  // Dimensions of slices that are as long as the operand.
  DimMap OperandToResult() const;
};
IndexedDims DimsOfGather(const Instruction& gather);
IndexedDims DimsOfScatter(const Instruction& scatter);

// Dimensions along which place i of the indices reads (writes) place i of the operand only.
struct ParallelDims {
  DimVec operand;
  DimVec indices;
  DimVec result;
  bool empty() const { return operand.empty(); }
};
// Those that the attributes name.
ParallelDims ExplicitBatch(const IndexedDims& dims);
// Those where the indices count: an iota, a constant like one, or one carried through a loop.
ParallelDims CountedBatch(const IndexedDims& dims);

}  // namespace hlo
