// Operations that move elements and compute nothing.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

DimVec DimsOf(const Instruction* x) { return {x->shape().dims().begin(), x->shape().dims().end()}; }

DimVec RandomOrder(Sketch& s, int rank) {
  DimVec order;
  for (int64_t i = 0; i < rank; ++i) order.push_back(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[s.random().Below(i)]);
  return order;
}

// Other dimensions with as many elements: joined, split, or with ones.
DimVec Refactored(Sketch& s, DimVec dims) {
  switch (s.random().Below(5)) {
    case 0: return {Product(dims)};
    case 1:
      if (dims.size() > 1) {
        const size_t at = s.random().Below(dims.size() - 1);
        dims[at] *= dims[at + 1];
        dims.erase(dims.begin() + static_cast<int64_t>(at) + 1);
      }
      return dims;
    case 2:
      dims.insert(dims.begin() + static_cast<int64_t>(s.random().Below(dims.size() + 1)), 1);
      return dims;
    case 3: dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end()); return dims;
    default: break;
  }
  const size_t at = s.random().Below(dims.size());
  if (dims.empty() || dims[at] == 0) return dims;
  for (int tries = 0; tries < 6; ++tries) {
    const auto factor = static_cast<int64_t>(2 + s.random().Below(8));
    if (dims[at] % factor != 0) continue;
    dims[at] /= factor;
    dims.insert(dims.begin() + static_cast<int64_t>(at + s.random().Below(2)), factor);
    break;
  }
  return dims;
}

void GrowReshape(Sketch& s) {
  Instruction* x = s.Any();
  DimVec dims = Refactored(s, DimsOf(x));
  if (s.random().OneIn(3)) dims = Refactored(s, dims);
  s.Make([&](Builder& b) { return b.Reshape(x, dims); });
}

void GrowTranspose(Sketch& s) {
  Instruction* x = s.Any();
  const DimVec order = RandomOrder(s, x->shape().rank());
  s.Make([&](Builder& b) { return b.Transpose(x, order); });
}

void GrowReverse(Sketch& s) {
  Instruction* x = s.Any();
  const DimVec dims = s.SomeDimensions(x->shape().rank());
  s.Make([&](Builder& b) { return b.Reverse(x, dims); });
}

void GrowSlice(Sketch& s) {
  Instruction* x = s.Any();
  DimVec starts, limits, strides;
  for (const int64_t dim : x->shape().dims()) {
    const auto size = static_cast<size_t>(dim);
    const bool whole = s.random().OneIn(3);
    const auto start = whole ? 0 : static_cast<int64_t>(s.random().Below(size));
    const auto rest = static_cast<size_t>(dim - start);
    starts.push_back(start);
    limits.push_back(whole ? dim : start + static_cast<int64_t>(rest - s.random().Below(rest)));
    strides.push_back(s.random().OneIn(4) ? static_cast<int64_t>(1 + s.random().Below(4)) : 1);
  }
  s.Make([&](Builder& b) { return b.Slice(x, starts, limits, strides); });
}

void GrowPad(Sketch& s) {
  Instruction* x = s.Any();
  PaddingConfig padding;
  for (int i = 0; i < x->shape().rank(); ++i) {
    PaddingDim dim;
    if (!s.random().OneIn(3)) dim.low = static_cast<int64_t>(s.random().Below(7)) - 2;
    if (!s.random().OneIn(3)) dim.high = static_cast<int64_t>(s.random().Below(7)) - 2;
    if (s.random().OneIn(4)) dim.interior = static_cast<int64_t>(s.random().Below(3));
    padding.dims.push_back(dim);
  }
  Instruction* value = s.Scalar(x->shape().element_type());
  s.Make([&](Builder& b) { return b.Pad(x, value, padding); });
}

// The same array several times, or others that differ in one size.
void GrowConcatenate(Sketch& s) {
  Instruction* x = s.Any();
  const int rank = x->shape().rank();
  if (rank == 0) return;
  const auto dimension = static_cast<int64_t>(s.random().Below(static_cast<size_t>(rank)));
  std::vector<Instruction*> operands = {x};
  for (size_t i = s.random().Below(4); i > 0; --i) {
    Shape shape = x->shape().WithDefaultLayout();
    if (s.random().OneIn(2)) shape = shape.WithDim(static_cast<int>(dimension), s.Dim(9));
    operands.push_back(s.random().OneIn(3) ? x : s.Value(shape));
  }
  if (s.random().OneIn(2)) std::swap(operands.front(), operands.back());
  s.Make([&](Builder& b) { return b.Concatenate(operands, dimension); });
}

void GrowBroadcast(Sketch& s) {
  Instruction* x = s.Any();
  DimVec dims = DimsOf(x), at;
  for (int64_t i = 0; i < x->shape().rank(); ++i) at.push_back(i);
  for (size_t i = 1 + s.random().Below(2); i > 0; --i) {
    const size_t place = s.random().Below(dims.size() + 1);
    dims.insert(dims.begin() + static_cast<int64_t>(place), s.Dim(17));
    for (int64_t& dimension : at) dimension += dimension >= static_cast<int64_t>(place) ? 1 : 0;
  }
  s.Make([&](Builder& b) { return b.Broadcast(x, dims, at); });
}

void GrowCopy(Sketch& s) {
  Instruction* x = s.Any();
  s.Op(Opcode::kCopy, {x});
}

// A bitcast within one array of bytes: other dimensions, or an order of dimensions as its layout.
void GrowBitcast(Sketch& s) {
  Instruction* x = s.Any();
  const Shape from = x->shape();
  Shape to = Shape::Array(from.element_type(), Refactored(s, DimsOf(x)));
  if (s.random().OneIn(2)) {
    const DimVec order = RandomOrder(s, from.rank());
    to = Shape::Array(from.element_type(), Permute(from.dims(), order));
    const DimVec inverse = InversePermutation(order);
    Layout layout = to.layout();
    for (size_t i = 0; i < layout.minor_to_major.size(); ++i)
      layout.minor_to_major[i] = inverse[static_cast<size_t>(from.layout().minor_to_major[i])];
    to = to.WithLayout(layout);
  }
  if (to.element_count() == from.element_count())
    s.Make([&](Builder& b) { return b.Bitcast(x, to); });
}

void GrowBarrier(Sketch& s) {
  Instruction* x = s.Any();
  s.Op(Opcode::kOptimizationBarrier, {x});
}

std::vector<Instruction*> Starts(Sketch& s, const Instruction* x, int64_t far) {
  std::vector<Instruction*> starts;
  const ElementType type = s.random().OneIn(4) ? ElementType::kS64 : ElementType::kS32;
  for (const int64_t dim : x->shape().dims()) {
    if (s.depth() == 0 && s.random().OneIn(2)) {
      starts.push_back(s.Fresh(Shape::Scalar(type)));
    } else {
      const auto start = static_cast<int64_t>(s.random().Below(static_cast<size_t>(dim + far)));
      starts.push_back(s.computation()->AddConstant(Literal::Scalar(type, start - far / 2)));
    }
  }
  return starts;
}

DimVec Parts(Sketch& s, const Instruction* x) {
  DimVec sizes = DimsOf(x);
  for (int64_t& size : sizes) {
    if (!s.random().OneIn(3))
      size -= static_cast<int64_t>(s.random().Below(static_cast<size_t>(size)));
  }
  return sizes;
}

void GrowDynamicSlice(Sketch& s) {
  Instruction* x = s.Any();
  const DimVec sizes = Parts(s, x);
  const std::vector<Instruction*> starts = Starts(s, x, 4);
  s.Make([&](Builder& b) { return b.DynamicSlice(x, starts, sizes); });
}

void GrowDynamicUpdateSlice(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* update = s.Value(Shape::Array(x->shape().element_type(), Parts(s, x)));
  const std::vector<Instruction*> starts = Starts(s, x, 4);
  s.Make([&](Builder& b) { return b.DynamicUpdateSlice(x, update, starts); });
}

constexpr GrowRow kMovementRows[] = {
    {"reshape", 9, GrowReshape},
    {"transpose", 6, GrowTranspose},
    {"reverse", 5, GrowReverse},
    {"slice", 6, GrowSlice},
    {"pad", 5, GrowPad},
    {"concatenate", 6, GrowConcatenate},
    {"broadcast", 5, GrowBroadcast},
    {"copy", 1, GrowCopy},
    {"bitcast", 3, GrowBitcast},
    {"opt-barrier", 1, GrowBarrier},
    {"dynamic-slice", 4, GrowDynamicSlice},
    {"dynamic-update-slice", 4, GrowDynamicUpdateSlice},
};

}  // namespace

std::span<const GrowRow> MovementRows() { return kMovementRows; }

}  // namespace hlo
