// Reductions, windows, cumulative operations, sorts.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/regions.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

Instruction* Identity(Sketch& s, Opcode reducer, ElementType type) {
  if (s.random().OneIn(5)) return s.Scalar(type);
  return s.computation()->AddConstant(StartOf(reducer, type));
}

// Factors of a product of so many: long products of any numbers overflow or vanish elsewhere in
// another order, so these are near one.
Instruction* Factors(Sketch& s, Instruction* x, Opcode reducer, int64_t count) {
  const ElementType type = x->shape().element_type();
  if (reducer != Opcode::kMultiply || !IsFloat(type) || type == ElementType::kF8E8M0FNU) return x;
  const double most = count <= 8 ? 1.5 : 1 + 1.0 / static_cast<double>(count);
  Instruction* low = s.computation()->AddConstant(Literal::Scalar(type, 2 - most));
  Instruction* high = s.computation()->AddConstant(Literal::Scalar(type, most));
  Instruction* factors = s.Op(Opcode::kClamp, {low, x, high});
  return factors == nullptr ? x : factors;
}

// Makes the elements of a tuple known, if there is one.
void TakeApart(Sketch& s, Instruction* tuple) {
  if (tuple == nullptr) return;
  for (int64_t i = 0; i < tuple->shape().element_count_of_tuple(); ++i)
    s.Make([&](Builder& b) { return b.GetTupleElement(tuple, i); });
}

void GrowReduce(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  const Opcode reducer = RandomReducer(s.random(), type);
  x = Factors(s, x, reducer, x->shape().element_count());
  const DimVec dims = s.SomeDimensions(x->shape().rank());
  Instruction* init = Identity(s, reducer, type);
  if (s.random().OneIn(12)) {
    Computation* region = TupleOfOneRegion(s.module(), reducer, type);
    TakeApart(s, s.Op(Opcode::kReduce, {x, init}, AttrsPtr::Make(ReduceAttrs{dims}), {region}));
    return;
  }
  Computation* region = ScalarComputation(s.module(), reducer, type);
  s.Make([&](Builder& b) { return b.Reduce(x, init, dims, region); });
}

void GrowReduceBySeveral(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  const DimVec dims = s.SomeDimensions(x->shape().rank());
  x = Factors(s, x, Opcode::kMultiply, x->shape().element_count());
  Computation* region = SeveralRegion(s.module(), s.random(), type);
  if (region == nullptr) return;
  Instruction* init = s.Scalar(type);
  s.Make([&](Builder& b) { return b.Reduce(x, init, dims, region); });
}

// Several arrays at once: sums of two, or the place of the largest.
void GrowVariadicReduce(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  if (x->shape().rank() == 0 || IsComplex(type)) return;
  const DimVec dims = s.SomeDimensions(x->shape().rank());
  Instruction* y = nullptr;
  Computation* region = nullptr;
  Instruction* init = nullptr;
  if (s.random().OneIn(2)) {
    Builder b(s.computation());
    y = b.Iota(Shape::Array(ElementType::kS32, x->shape().dims()), dims.back());
    if (!b.status().ok()) return;
    const bool largest = s.random().OneIn(2);
    region = ArgRegion(s.module(), type, largest, /*breaks_ties=*/!s.random().OneIn(3));
    init =
        s.computation()->AddConstant(StartOf(largest ? Opcode::kMaximum : Opcode::kMinimum, type));
  } else {
    y = s.Value(Shape::Array(s.Type(), x->shape().dims()));
    const ElementType other = y->shape().element_type();
    const Opcode first = RandomReducer(s.random(), type), second = RandomReducer(s.random(), other);
    x = Factors(s, x, first, x->shape().element_count());
    y = Factors(s, y, second, y->shape().element_count());
    region = PairRegion(s.module(), first, type, second, other);
    init = s.computation()->AddConstant(StartOf(first, type));
  }
  Instruction* zero = s.Scalar(y->shape().element_type());
  Instruction* both =
      s.Op(Opcode::kReduce, {x, y, init, zero}, AttrsPtr::Make(ReduceAttrs{dims}), {region});
  TakeApart(s, both);
}

Window RandomWindow(Sketch& s, const Instruction* x) {
  Window window;
  for (const int64_t dim : x->shape().dims()) {
    WindowDim w;
    if (!s.random().OneIn(3)) {
      w.size = static_cast<int64_t>(s.random().Small(5));
      if (s.random().OneIn(3)) w.stride = static_cast<int64_t>(s.random().Small(3));
      if (s.random().OneIn(3)) w.pad_low = static_cast<int64_t>(s.random().Below(4));
      if (s.random().OneIn(3)) w.pad_high = static_cast<int64_t>(s.random().Below(4));
      if (s.random().OneIn(6)) w.base_dilation = static_cast<int64_t>(s.random().Small(3));
      if (s.random().OneIn(6)) w.window_dilation = static_cast<int64_t>(s.random().Small(3));
      if (s.random().OneIn(12)) w.pad_low = -1;
    } else if (s.random().OneIn(4)) {
      w.size = std::max<int64_t>(dim, 1);
    }
    window.dims.push_back(w);
  }
  return window;
}

void GrowReduceWindow(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  const Opcode reducer = RandomReducer(s.random(), type);
  x = Factors(s, x, reducer, x->shape().element_count());
  Instruction* init = Identity(s, reducer, type);
  const AttrsPtr attrs = AttrsPtr::Make(ReduceWindowAttrs{RandomWindow(s, x)});
  if (s.random().OneIn(8)) {
    Instruction* y = s.Value(Shape::Array(s.Type(), x->shape().dims()));
    const ElementType other = y->shape().element_type();
    const Opcode second = RandomReducer(s.random(), other);
    y = Factors(s, y, second, y->shape().element_count());
    TakeApart(s, s.Op(Opcode::kReduceWindow, {x, y, init, Identity(s, second, other)}, attrs,
                      {PairRegion(s.module(), reducer, type, second, other)}));
  } else if (s.random().OneIn(12)) {
    TakeApart(s, s.Op(Opcode::kReduceWindow, {x, init}, attrs,
                      {TupleOfOneRegion(s.module(), reducer, type)}));
  } else {
    s.Op(Opcode::kReduceWindow, {x, init}, attrs, {ScalarComputation(s.module(), reducer, type)});
  }
}

// Sums so far: a window as long as the dimension that looks back, or ahead.
void GrowCumulative(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  const int rank = x->shape().rank();
  if (rank == 0) return;
  const size_t along = s.random().Below(static_cast<size_t>(rank));
  Window window;
  window.dims.resize(static_cast<size_t>(rank));
  const int64_t size = std::max<int64_t>(x->shape().dim(static_cast<int>(along)), 1);
  window.dims[along].size = size;
  (s.random().OneIn(3) ? window.dims[along].pad_high : window.dims[along].pad_low) = size - 1;
  const Opcode reducer = RandomReducer(s.random(), type);
  x = Factors(s, x, reducer, size);
  Instruction* init = s.computation()->AddConstant(StartOf(reducer, type));
  s.Op(Opcode::kReduceWindow, {x, init}, AttrsPtr::Make(ReduceWindowAttrs{window}),
       {ScalarComputation(s.module(), reducer, type)});
}

void GrowSelectAndScatter(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& value) {
    return value.shape().rank() > 0 && !IsComplex(value.shape().element_type());
  });
  if (x == nullptr) return;
  const ElementType type = x->shape().element_type();
  Window window;
  DimVec dims;
  for (const int64_t dim : x->shape().dims()) {
    WindowDim w;
    w.size = static_cast<int64_t>(s.random().Small(3));
    w.stride = static_cast<int64_t>(s.random().Small(3));
    if (s.random().OneIn(3) && w.size > 1) w.pad_low = 1;
    window.dims.push_back(w);
    dims.push_back(w.OutputSize(dim));
  }
  Instruction* source = s.Value(Shape::Array(type, dims));
  s.Op(Opcode::kSelectAndScatter, {x, source, s.computation()->AddConstant(Literal::Zero(type))},
       AttrsPtr::Make(SelectAndScatterAttrs{window}),
       {CompareRegion(s.module(), type, ComparisonDirection::kGe, 1),
        ScalarComputation(s.module(), Opcode::kAdd, type)});
}

// A step for each slice along a dimension: sums so far, or any small computation.
void GrowScan(Sketch& s) {
  Instruction* x = s.AnyWhere(
      [](const Instruction& v) { return v.shape().rank() > 0 && !v.shape().has_dynamic_dims(); });
  if (x == nullptr || !s.MayNest()) return;
  const auto dimension =
      static_cast<int64_t>(s.random().Below(static_cast<size_t>(x->shape().rank())));
  const ElementType type = x->shape().element_type();
  DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  dims.erase(dims.begin() + dimension);
  const Shape slice = Shape::Array(type, dims);
  Instruction* init = s.Value(slice);
  Computation* step = s.module().AddComputation("step");
  {
    Sketch inner(s.module(), step, s.palette(), s.random(), s.depth() + 1);
    Builder b(step);
    Instruction* part = b.Parameter(0, slice);
    Instruction* so_far = b.Parameter(1, slice);
    inner.Keep(part);
    inner.Keep(so_far);
    Instruction* next = b.Op(RandomReducer(s.random(), type), {so_far, part});
    if (!b.status().ok()) return;
    inner.Keep(next);
    if (s.random().OneIn(2)) GrowSome(inner, 1 + s.random().Below(3));
    Instruction* output = inner.AnyWhere([](const Instruction& v) { return v.shape().IsArray(); });
    if (s.random().OneIn(2) || output->shape().rank() < dimension ||
        output->shape().has_dynamic_dims())
      output = next;
    step->set_root(b.Tuple({output, next}));
  }
  ScanAttrs attrs;
  attrs.dimensions = {dimension};
  attrs.num_carries = 1;
  attrs.is_reverse = s.random().OneIn(3);
  const Shape output = step->root()->operand(0)->shape();
  DimVec stacked(output.dims().begin(), output.dims().end());
  stacked.insert(stacked.begin() + dimension, x->shape().dim(static_cast<int>(dimension)));
  Instruction* both = s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kScan,
                         Shape::Tuple({Shape::Array(output.element_type(), stacked), slice}),
                         {x, init}, AttrsPtr::Make(attrs), {step});
  });
  TakeApart(s, both);
}

// The three of them; statistics that are given have a variance above zero. Types without NaN, which
// XLA has no roots of, leave nothing of a step that goes wrong.
void GrowBatchNorm(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) {
    const ElementType type = v.shape().element_type();
    return v.shape().rank() > 0 && IsFloat(type) && BitWidth(type) >= 8;
  });
  if (x == nullptr) return;
  const auto feature = s.random().Below(static_cast<size_t>(x->shape().rank()));
  const Shape features =
      Shape::Array(x->shape().element_type(), {x->shape().dim(static_cast<int>(feature))});
  const AttrsPtr attrs =
      AttrsPtr::Make(BatchNormAttrs{.epsilon = s.random().OneIn(2) ? 0.5F : 0.001F,
                                    .feature_index = static_cast<int64_t>(feature)});
  const size_t kind = s.random().Below(3);
  Instruction* scale = s.Value(features);
  if (kind == 0) {
    Instruction* all = s.Op(Opcode::kBatchNormTraining, {x, scale, s.Value(features)}, attrs);
    TakeApart(s, all);
    return;
  }
  Instruction* mean = s.Value(features);
  Instruction* any = s.Value(features);
  Instruction* variance =
      s.Make([&](Builder& b) { return b.Add(b.Abs(any), b.ConstantLike(any, 0.5)); });
  if (variance == nullptr) return;
  if (kind == 1) {
    s.Op(Opcode::kBatchNormInference, {x, scale, s.Value(features), mean, variance}, attrs);
    return;
  }
  Instruction* all = s.Op(Opcode::kBatchNormGrad, {x, scale, mean, variance, s.Like(x)}, attrs);
  TakeApart(s, all);
}

// One array, or keys with payloads.
void GrowSort(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& value) {
    return value.shape().rank() > 0 && !IsComplex(value.shape().element_type());
  });
  if (x == nullptr) return;
  const ElementType type = x->shape().element_type();
  const bool total_order = IsFloat(type) && s.random().OneIn(2);
  // A NaN is neither before nor after anything: only the total order has a place for it.
  if (IsFloat(type) && !total_order) {
    x = s.Make([&](Builder& b) {
      return b.Select(b.Compare(x, x, ComparisonDirection::kEq), x, b.ConstantLike(x, 1));
    });
    if (x == nullptr) return;
  }
  std::vector<Instruction*> operands = {x};
  for (size_t i = s.random().Below(3); i > 0; --i)
    operands.push_back(s.Value(Shape::Array(s.Type(), x->shape().dims())));
  const auto dimension =
      static_cast<int64_t>(s.random().Below(static_cast<size_t>(x->shape().rank())));
  std::vector<ElementType> types;
  for (const Instruction* operand : operands) types.push_back(operand->shape().element_type());
  // Without a stable order what is equal may stand in any order.
  const bool is_stable = operands.size() > 1 || !s.random().OneIn(3);
  Instruction* sorted =
      s.Op(Opcode::kSort, operands,
           AttrsPtr::Make(SortAttrs{.dimensions = {dimension}, .is_stable = is_stable}),
           {SortRegion(s.module(), types,
                       s.random().OneIn(2) ? ComparisonDirection::kLt : ComparisonDirection::kGt,
                       total_order)});
  if (sorted == nullptr || operands.size() == 1) return;
  for (size_t i = 0; i < operands.size(); ++i) {
    s.Make([&](Builder& b) { return b.GetTupleElement(sorted, static_cast<int64_t>(i)); });
  }
}

void GrowTopK(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& value) {
    return value.shape().rank() > 0 && !IsComplex(value.shape().element_type()) &&
           value.shape().dim(value.shape().rank() - 1) > 0;
  });
  if (x == nullptr) return;
  const auto last = static_cast<size_t>(x->shape().dim(x->shape().rank() - 1));
  TopKAttrs attrs{.k = static_cast<int64_t>(1 + s.random().Below(last)),
                  .largest = !s.random().OneIn(3)};
  Instruction* both = s.Op(Opcode::kTopK, {x}, AttrsPtr::Make(attrs));
  if (both == nullptr || !both->shape().IsTuple()) return;
  for (int64_t i = 0; i < 2; ++i) s.Make([&](Builder& b) { return b.GetTupleElement(both, i); });
}

constexpr GrowRow kReductionRows[] = {
    {"reduce", 9, GrowReduce},
    {"reduce-by-several", 2, GrowReduceBySeveral},
    {"variadic-reduce", 3, GrowVariadicReduce},
    {"reduce-window", 4, GrowReduceWindow},
    {"cumulative", 2, GrowCumulative},
    {"select-and-scatter", 1, GrowSelectAndScatter},
    {"scan", 1, GrowScan},
    {"batch-norm", 1, GrowBatchNorm},
    {"sort", 2, GrowSort},
    {"topk", 1, GrowTopK},
};

}  // namespace

std::span<const GrowRow> ReductionRows() { return kReductionRows; }

}  // namespace hlo
