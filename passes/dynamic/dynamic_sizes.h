// The run-time sizes of dimensions: for a dimension of a leaf of a value the scalar s32 instruction
// that computes it, in the computation of the value.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/ir/module.h"

namespace hlo {

struct DynamicSize {
  int64_t leaf;  // lib/analysis/leaves.h
  int64_t dim;
  Instruction* size;
};

class DynamicSizes {
 public:
  // Null: the dimension has its bound, or nobody knows.
  Instruction* Get(const Instruction* value, int64_t leaf, int64_t dim) const;
  Instruction* Get(const Instruction* value, int64_t dim) const { return Get(value, 0, dim); }
  // Those of a value by leaf and dimension.
  absl::Span<const DynamicSize> Of(const Instruction* value) const;
  bool HasAny(const Instruction* value) const { return !Of(value).empty(); }

  // Remembers the size; the dimension of the value is its bound from now on.
  void Set(Instruction* value, int64_t leaf, int64_t dim, Instruction* size);
  // Remembers the size only.
  void Note(const Instruction* value, int64_t leaf, int64_t dim, Instruction* size);
  // `to` has the sizes of `from` as well.
  void Forward(const Instruction* from, Instruction* to);
  // Sizes that `old` computed are those of `by`.
  void ReplaceSize(const Instruction* old, Instruction* by);

  // Dimensions of which nobody knows a size have their bounds.
  void MakeStatic(Instruction* value);

  // Whether a dimension was made static.
  bool changed_shapes() const { return changed_shapes_; }

 private:
  absl::flat_hash_map<const Instruction*, std::vector<DynamicSize>> sizes_;
  bool changed_shapes_ = false;
};

// `shape` with one dimension of a leaf made static.
Shape WithStaticDim(Shape shape, int64_t leaf, int64_t dim);

}  // namespace hlo
