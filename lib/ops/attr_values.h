// Value types that occur only inside attributes. The larger ones (Window, Sharding, ReplicaGroups,
// …) are in lib/types.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/ops/enums.h"
#include "lib/types/shape_util.h"
#include "lib/types/sharding.h"

namespace hlo {

// `dimensions={3}`: a list that must hold exactly one number.
struct BracedDim {
  int64_t value = -1;
  friend bool operator==(BracedDim, BracedDim) = default;
};

// `operand_precision={high,default}`. Empty means all default; a list of nothing but defaults is
// stored as empty.
struct PrecisionConfig {
  std::vector<Precision> values;
  friend bool operator==(const PrecisionConfig&, const PrecisionConfig&) = default;
};

// `slice={[0:4], [1:9:2]}`
struct SliceRange {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 1;
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};
using SliceRanges = std::vector<SliceRange>;

// `output_to_operand_aliasing={{0}: (1, {})}`
struct OutputOperandAlias {
  ShapeIndex output;
  int64_t operand = 0;
  ShapeIndex operand_index;
  friend bool operator==(const OutputOperandAlias&, const OutputOperandAlias&) = default;
};
using OutputOperandAliases = std::vector<OutputOperandAlias>;

// `source_target_pairs={{0,1},{1,0}}`
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;

// `domain={kind="sharding", entry={…}, exit={…}}`
struct DomainConfig {
  Sharding entry;
  Sharding exit;
  friend bool operator==(const DomainConfig&, const DomainConfig&) = default;
};

// One side of `sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}`.
struct TensorSparsity {
  int64_t n = 0;
  int64_t m = 0;
  int64_t dimension = 0;
  int64_t stride = 0;
  int64_t index = 0;
  friend bool operator==(const TensorSparsity&, const TensorSparsity&) = default;
};
struct SparsityConfig {
  std::optional<TensorSparsity> lhs;
  std::optional<TensorSparsity> rhs;
  friend bool operator==(const SparsityConfig&, const SparsityConfig&) = default;
};

// `result_accuracy={mode=highest}` or `{tolerance={atol=0,rtol=0,ulps=2}}`
struct ResultAccuracy {
  AccuracyMode mode = AccuracyMode::kDefault;
  bool has_tolerance = false;
  double atol = 0;
  double rtol = 0;
  int64_t ulps = 0;
  friend bool operator==(const ResultAccuracy&, const ResultAccuracy&) = default;
};

// A string attribute that prints between quotes, C-escaped (empty: not printed).
using QuotedText = std::string;

}  // namespace hlo
