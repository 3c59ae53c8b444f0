// What frontends write in several operations: ravel, roll, tile, flip, stack, masks, softmax, …
#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "tools/fuzz/programs/regions.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

Instruction* AnyOfRank(Sketch& s, int least) {
  return s.AnyWhere([least](const Instruction& v) {
    return v.shape().rank() >= least && v.shape().element_count() > 0;
  });
}

Instruction* Part(Builder& b, Instruction* x, int64_t dimension, int64_t start, int64_t limit) {
  DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  starts[static_cast<size_t>(dimension)] = start;
  limits[static_cast<size_t>(dimension)] = limit;
  return b.Slice(x, starts, limits);
}

// x.ravel(), sometimes backwards or of the transpose.
void Ravel(Sketch& s) {
  Instruction* x = AnyOfRank(s, 1);
  if (x == nullptr) return;
  s.Make([&](Builder& b) {
    Instruction* from = x;
    if (x->shape().rank() == 2 && s.random().OneIn(2)) from = b.Transpose(x, {1, 0});
    Instruction* flat = b.Reshape(from, {x->shape().element_count()});
    return s.random().OneIn(3) ? b.Reverse(flat, {0}) : flat;
  });
}

void Roll(Sketch& s) {
  Instruction* x = AnyOfRank(s, 1);
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x), size = x->shape().dim(static_cast<int>(dimension));
  const auto by = static_cast<int64_t>(s.random().Below(static_cast<size_t>(size)));
  s.Make([&](Builder& b) {
    return b.Concatenate(
        {Part(b, x, dimension, size - by, size), Part(b, x, dimension, 0, size - by)}, dimension);
  });
}

// A broadcast with a new dimension that a reshape joins with its neighbour.
void Tile(Sketch& s) {
  Instruction* x = AnyOfRank(s, 1);
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x);
  const auto times = static_cast<int64_t>(s.random().Small(4));
  const bool repeats = s.random().OneIn(2);  // each element, not the whole
  DimVec wide(x->shape().dims().begin(), x->shape().dims().end()), joined = wide, at;
  wide.insert(wide.begin() + dimension + (repeats ? 1 : 0), times);
  joined[static_cast<size_t>(dimension)] *= times;
  for (int64_t d = 0; d < x->shape().rank(); ++d)
    at.push_back(d + (d > dimension || (d == dimension && !repeats) ? 1 : 0));
  s.Make([&](Builder& b) {
    Instruction* tiled = b.Reshape(b.Broadcast(x, wide, at), joined);
    return s.random().OneIn(3) ? b.Reverse(tiled, {dimension}) : tiled;
  });
}

void Stack(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* y = s.Like(x);
  const auto at =
      static_cast<int64_t>(s.random().Below(static_cast<size_t>(x->shape().rank()) + 1));
  DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  dims.insert(dims.begin() + at, 1);
  s.Make([&](Builder& b) {
    return b.Concatenate({b.Reshape(x, dims), b.Reshape(y, dims), b.Reshape(x, dims)}, at);
  });
}

void FlatConcatenate(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* y = s.AnyWhere(
      [&](const Instruction& v) { return v.shape().element_type() == x->shape().element_type(); });
  if (y == nullptr) y = s.Like(x);
  s.Make([&](Builder& b) {
    return b.Concatenate(
        {b.Reshape(x, {x->shape().element_count()}), b.Reshape(y, {y->shape().element_count()})},
        0);
  });
}

// Rows above or below the diagonal.
void Mask(Sketch& s) {
  Instruction* x = AnyOfRank(s, 2);
  if (x == nullptr) return;
  const int rank = x->shape().rank();
  const Shape numbers = Shape::Array(ElementType::kS32, x->shape().dims());
  s.Make([&](Builder& b) {
    Instruction* below =
        b.Compare(b.Iota(numbers, rank - 2), b.Iota(numbers, rank - 1),
                  s.random().OneIn(2) ? ComparisonDirection::kGe : ComparisonDirection::kLt);
    return b.Select(below, x, b.ZeroLike(x));
  });
}

Instruction* ReducedAndBack(Sketch& s, Builder& b, Instruction* x, Opcode reducer,
                            int64_t dimension) {
  const ElementType type = x->shape().element_type();
  Instruction* init = s.computation()->AddConstant(StartOf(reducer, type));
  Instruction* reduced =
      b.Reduce(x, init, {dimension}, ScalarComputation(s.module(), reducer, type));
  DimVec at;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (d != dimension) at.push_back(d);
  }
  return b.Broadcast(reduced, x->shape().dims(), at);
}

Instruction* AnyFloat(Sketch& s) {
  return s.AnyWhere([](const Instruction& v) {
    return v.shape().rank() > 0 && v.shape().element_count() > 0 &&
           IsFloat(v.shape().element_type());
  });
}

void Softmax(Sketch& s) {
  Instruction* x = AnyFloat(s);
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x);
  s.Make([&](Builder& b) {
    Instruction* e = b.Exp(b.Subtract(x, ReducedAndBack(s, b, x, Opcode::kMaximum, dimension)));
    return b.Divide(e, ReducedAndBack(s, b, e, Opcode::kAdd, dimension));
  });
}

void Normalize(Sketch& s) {
  Instruction* x = AnyFloat(s);
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x);
  const auto size = static_cast<double>(x->shape().dim(static_cast<int>(dimension)));
  s.Make([&](Builder& b) {
    Instruction* mean =
        b.Divide(ReducedAndBack(s, b, x, Opcode::kAdd, dimension), b.ConstantLike(x, size));
    Instruction* centred = b.Subtract(x, mean);
    Instruction* variance =
        ReducedAndBack(s, b, b.Multiply(centred, centred), Opcode::kAdd, dimension);
    return b.Multiply(centred, b.Rsqrt(b.Add(variance, b.ConstantLike(x, 1))));
  });
}

void OneHot(Sketch& s) {
  const int64_t classes = s.Dim(33);
  Instruction* labels = s.Value(Shape::Array(ElementType::kS32, {s.Dim(17)}));
  const DimVec dims = {labels->shape().dim(0), classes};
  const ElementType type = s.Type();
  s.Make([&](Builder& b) {
    Instruction* hot =
        b.Compare(b.Broadcast(labels, dims, {0}), b.Iota(Shape::Array(ElementType::kS32, dims), 1),
                  ComparisonDirection::kEq);
    return IsComplex(type) ? hot : b.Convert(hot, type);
  });
}

// x[::-1], x[:, ::2], of something that was padded or cut.
void Strided(Sketch& s) {
  Instruction* x = AnyOfRank(s, 1);
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x);
  s.Make([&](Builder& b) {
    DimVec starts(static_cast<size_t>(x->shape().rank()), 0), strides(starts.size(), 1);
    DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
    strides[static_cast<size_t>(dimension)] = static_cast<int64_t>(1 + s.random().Below(3));
    return b.Slice(b.Reverse(x, {dimension}), starts, limits, strides);
  });
}

// An array written into a slice of itself.
void UpdateOfItself(Sketch& s) {
  Instruction* x = AnyOfRank(s, 1);
  if (x == nullptr) return;
  const int64_t size = x->shape().dim(0);
  const auto count = static_cast<int64_t>(1 + s.random().Below(static_cast<size_t>(size)));
  s.Make([&](Builder& b) {
    std::vector<Instruction*> from, to;
    for (int d = 0; d < x->shape().rank(); ++d) {
      const auto far = static_cast<size_t>(d == 0 ? size : 1);
      from.push_back(
          b.ScalarConstant(ElementType::kS32, static_cast<double>(s.random().Below(far))));
      to.push_back(b.ScalarConstant(ElementType::kS32, static_cast<double>(s.random().Below(far))));
    }
    DimVec sizes(x->shape().dims().begin(), x->shape().dims().end());
    sizes[0] = count;
    Instruction* part = b.DynamicSlice(x, from, sizes);
    if (s.random().OneIn(2)) part = b.Reverse(part, {0});
    return b.DynamicUpdateSlice(x, part, to);
  });
}

constexpr GrowRow kIdiomRows[] = {
    {"ravel", 3, Ravel},
    {"roll", 3, Roll},
    {"tile", 3, Tile},
    {"stack", 2, Stack},
    {"flat-concatenate", 2, FlatConcatenate},
    {"mask", 2, Mask},
    {"softmax", 2, Softmax},
    {"normalize", 1, Normalize},
    {"one-hot", 1, OneHot},
    {"strided", 2, Strided},
    {"update-of-itself", 2, UpdateOfItself},
};

}  // namespace

std::span<const GrowRow> IdiomRows() { return kIdiomRows; }

}  // namespace hlo
