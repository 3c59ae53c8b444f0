// Gather and scatter, with indices in and out of range.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/regions.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// Indices of the given dimensions: from the entry's parameters, constants or an iota, often a few
// out of range; or clipped, as frontends do.
Instruction* Indices(Sketch& s, absl::Span<const int64_t> dims, int64_t most) {
  const ElementType type = s.random().OneIn(5) ? ElementType::kS64 : ElementType::kS32;
  Instruction* indices = s.Value(Shape::Array(type, dims));
  if (!s.random().OneIn(3)) return indices;
  Instruction* low = s.computation()->AddConstant(Literal::Scalar(type, 0));
  Instruction* high =
      s.computation()->AddConstant(Literal::Scalar(type, std::max<int64_t>(most, 0)));
  Instruction* clipped = s.Op(Opcode::kClamp, {low, indices, high});
  return clipped == nullptr ? indices : clipped;
}

// How indices address an array, for gather and scatter alike.
struct Addressing {
  DimVec index_dims;       // of the indices, with the vector
  int64_t vector_dim = 0;  // which is of size mapped.size(), or past the end for one number
  DimVec mapped;           // dimensions of the array that are indexed
  DimVec window_sizes;     // by dimension of the array
  DimVec dropped;          // of size 1, not in the result
  DimVec window_dims;      // of the result
  DimVec result_dims;
  int64_t largest = 0;
};

Addressing RandomAddressing(Sketch& s, Shape array) {
  Addressing a;
  DimVec batch;
  for (size_t i = s.random().Below(3); i > 0; --i) batch.push_back(s.Dim(9));
  DimVec windows;
  a.largest = INT64_MAX;
  for (int64_t d = 0; d < array.rank(); ++d) {
    const int64_t size = array.dim(static_cast<int>(d));
    const bool is_mapped = s.random().OneIn(2);
    if (is_mapped) a.mapped.push_back(d);
    int64_t window = is_mapped ? (s.random().OneIn(3) ? std::min<int64_t>(size, 2) : 1) : size;
    if (!is_mapped && s.random().OneIn(6)) window = std::max<int64_t>(size - 1, 0);
    if (is_mapped) a.largest = std::min(a.largest, size - window);
    a.window_sizes.push_back(window);
    if (window == 1 && !s.random().OneIn(4)) {
      a.dropped.push_back(d);
    } else {
      windows.push_back(window);
    }
  }
  if (s.random().OneIn(3)) std::reverse(a.mapped.begin(), a.mapped.end());
  a.index_dims = batch;
  a.vector_dim = static_cast<int64_t>(batch.size());
  if (a.mapped.size() != 1 || s.random().OneIn(2)) {
    a.vector_dim = static_cast<int64_t>(s.random().Below(batch.size() + 1));
    a.index_dims.insert(a.index_dims.begin() + a.vector_dim, static_cast<int64_t>(a.mapped.size()));
  }
  // Windows stand last, first or somewhere between the batch dimensions.
  const size_t rank = batch.size() + windows.size();
  const size_t style = s.random().Below(3);
  size_t next_window = 0, next_batch = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool window =
        next_batch == batch.size() ||
        (next_window < windows.size() && (style == 0 || (style == 2 && s.random().OneIn(2))));
    if (window) a.window_dims.push_back(static_cast<int64_t>(i));
    a.result_dims.push_back(window ? windows[next_window++] : batch[next_batch++]);
  }
  return a;
}

void GrowGather(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) { return v.shape().rank() > 0; });
  if (x == nullptr) return;
  const Addressing a = RandomAddressing(s, x->shape());
  Instruction* indices = Indices(s, a.index_dims, a.largest);
  GatherAttrs attrs;
  attrs.offset_dims = a.window_dims;
  attrs.collapsed_slice_dims = a.dropped;
  attrs.start_index_map = a.mapped;
  attrs.index_vector_dim = a.vector_dim;
  attrs.slice_sizes = a.window_sizes;
  s.Op(Opcode::kGather, {x, indices}, AttrsPtr::Make(attrs));
}

void GrowScatter(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) { return v.shape().rank() > 0; });
  if (x == nullptr) return;
  const Addressing a = RandomAddressing(s, x->shape());
  const ElementType type = x->shape().element_type();
  Instruction* indices = Indices(s, a.index_dims, a.largest);
  Instruction* updates = s.Value(Shape::Array(type, a.result_dims));
  ScatterAttrs attrs;
  attrs.update_window_dims = a.window_dims;
  attrs.inserted_window_dims = a.dropped;
  attrs.scatter_dims_to_operand_dims = a.mapped;
  attrs.index_vector_dim = a.vector_dim;
  Computation* region = ScalarComputation(s.module(), RandomReducer(s.random(), type), type);
  s.Op(Opcode::kScatter, {x, indices, updates}, AttrsPtr::Make(attrs), {region});
}

constexpr GrowRow kIndexRows[] = {
    {"gather", 5, GrowGather},
    {"scatter", 4, GrowScatter},
};

}  // namespace

std::span<const GrowRow> IndexRows() { return kIndexRows; }

}  // namespace hlo
