#include "passes/dynamic/dynamic_sizes.h"

#include "lib/types/shape_util.h"

namespace hlo {

Shape WithStaticDim(Shape shape, int64_t leaf, int64_t dim) {
  if (shape.IsArray()) return shape.WithDynamic(static_cast<int>(dim), false);
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    const int64_t count = LeafCount(shape.element(i));
    if (leaf < count) return shape.WithElement(i, WithStaticDim(shape.element(i), leaf, dim));
    leaf -= count;
  }
  return shape;
}

Instruction* DynamicSizes::Get(const Instruction* value, int64_t leaf, int64_t dim) const {
  for (const DynamicSize& known : Of(value)) {
    if (known.leaf == leaf && known.dim == dim) return known.size;
  }
  return nullptr;
}

absl::Span<const DynamicSize> DynamicSizes::Of(const Instruction* value) const {
  const auto found = sizes_.find(value);
  if (found == sizes_.end()) return {};
  return found->second;
}

void DynamicSizes::Note(const Instruction* value, int64_t leaf, int64_t dim, Instruction* size) {
  std::vector<DynamicSize>& known = sizes_[value];
  const auto at = absl::c_lower_bound(
      known, std::pair(leaf, dim),
      [](const DynamicSize& a, const auto& b) { return std::pair(a.leaf, a.dim) < b; });
  if (at != known.end() && at->leaf == leaf && at->dim == dim) {
    at->size = size;
  } else {
    known.insert(at, {leaf, dim, size});
  }
}

void DynamicSizes::Set(Instruction* value, int64_t leaf, int64_t dim, Instruction* size) {
  Note(value, leaf, dim, size);
  const Shape shape = WithStaticDim(value->shape(), leaf, dim);
  changed_shapes_ |= shape != value->shape();
  value->set_shape(shape);
}

void DynamicSizes::MakeStatic(Instruction* value) {
  changed_shapes_ |= value->shape().has_dynamic_dims();
  value->set_shape(value->shape().WithoutDynamic());
}

void DynamicSizes::Forward(const Instruction* from, Instruction* to) {
  const std::vector<DynamicSize> sizes(Of(from).begin(), Of(from).end());
  for (const DynamicSize& known : sizes) Set(to, known.leaf, known.dim, known.size);
}

void DynamicSizes::ReplaceSize(const Instruction* old, Instruction* by) {
  for (auto& [value, known] : sizes_) {
    for (DynamicSize& entry : known) {
      if (entry.size == old) entry.size = by;
    }
  }
}

}  // namespace hlo
