#include "passes/expand/eigh_expander.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/ascii.h"
#include "lib/linalg/signature.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "passes/util/counted_loop.h"
#include "passes/util/matrices.h"

namespace hlo {
namespace {

using enum ComparisonDirection;

struct Config {
  bool lower = false;
  bool sorted = false;
  int32_t max_sweeps = 0;
  float tolerance = 0;
};

std::optional<Config> ReadConfig(const Instruction& call) {
  const std::vector<std::string_view> texts = Split(call.backend_config(), ',');
  if (texts.size() != 4) return std::nullopt;
  const auto lower = ReadNumber<int32_t>(texts[0]), sorted = ReadNumber<int32_t>(texts[1]);
  const auto max_sweeps = ReadNumber<int32_t>(texts[2]);
  const auto tolerance = ReadNumber<float>(texts[3]);
  if (!lower || !sorted || !max_sweeps || !tolerance) return std::nullopt;
  return Config{*lower != 0, *sorted != 0, *max_sweeps, *tolerance};
}

// The matrix in four, and the eigenvectors found so far in left and right columns. Row and column j
// of the first half are paired with row and column j of the second one.
struct State {
  Instruction *tl, *tr, *bl, *br;
  Instruction *left, *right;

  std::vector<Instruction*> elements() const { return {tl, tr, bl, br, left, right}; }
  static State Of(const std::vector<Instruction*>& e) {
    return {e[0], e[1], e[2], e[3], e[4], e[5]};
  }
};

enum class Along { kRows = 2, kColumns = 1 };  // from the end of the dimensions

Instruction* OnDiagonal(Builder& b, Instruction* like) { return CompareRowAndColumn(b, like, kEq); }

// `x` reduced over its last `count` dimensions.
Instruction* ReduceLast(Builder& b, Instruction* x, int count, Opcode opcode, double init) {
  const ElementType type = x->shape().element_type();
  std::vector<int64_t> dimensions(static_cast<size_t>(count));
  absl::c_iota(dimensions, x->shape().rank() - count);
  return b.Reduce(x, b.ScalarConstant(type, init), dimensions,
                  ScalarComputation(b.computation()->module(), opcode, type));
}

// [batch…, k] of [batch…, k, k].
Instruction* Diagonal(Builder& b, Instruction* x) {
  return ReduceLast(b, b.Select(OnDiagonal(b, x), x, b.ZeroLike(x)), 1, Opcode::kAdd, 0);
}

// One number for each row, or for each column, in the sizes of `like`.
Instruction* Spread(Builder& b, Instruction* numbers, Along along, const Instruction* like) {
  std::vector<int64_t> dimensions(static_cast<size_t>(numbers->shape().rank()));
  absl::c_iota(dimensions, 0);
  dimensions.back() = like->shape().rank() - static_cast<int>(along);
  return b.Broadcast(numbers, like->shape().dims(), dimensions);
}

Instruction* WithDiagonal(Builder& b, Instruction* x, Instruction* diagonal) {
  return b.Select(OnDiagonal(b, x), Spread(b, AsTypeOf(b, diagonal, x), Along::kColumns, x), x);
}

// Rotations [c, s; -conj(s), c], one for each pair, and what they leave on the diagonals.
struct Rotations {
  Instruction *c, *s;           // c is real, of the type of the matrix
  Instruction *first, *second;  // real
};

// Those that make the element between the two of a pair vanish: the smaller one of the two angles.
Rotations MakeRotations(Builder& b, const State& m) {
  Instruction* p = RealPart(b, Diagonal(b, m.tl));
  Instruction* q = RealPart(b, Diagonal(b, m.br));
  Instruction* between = Diagonal(b, m.tr);
  Instruction* size = b.Abs(between);
  Instruction* signed_size = IsComplexArray(between) ? size : between;
  const double epsilon = p->shape().element_type() == ElementType::kF64
                             ? std::numeric_limits<double>::epsilon()
                             : double{std::numeric_limits<float>::epsilon()};
  Instruction* negligible =
      b.Multiply(b.ConstantLike(p, 0.1 * epsilon), b.Minimum(b.Abs(p), b.Abs(q)));
  Instruction* rotates = b.Compare(size, negligible, kGt);
  Instruction* one = b.ConstantLike(p, 1);
  Instruction* tau = b.Divide(
      b.Subtract(q, p), b.Multiply(b.ConstantLike(p, 2), b.Select(rotates, signed_size, one)));
  Instruction* root = b.Sqrt(b.Add(one, b.Multiply(tau, tau)));
  Instruction* t = b.Divide(one, b.Add(b.Abs(tau), root));
  t = b.Select(b.Compare(tau, b.ZeroLike(tau), kGe), t, b.Negate(t));
  t = b.Select(rotates, t, b.ZeroLike(t));
  Instruction* c = b.Rsqrt(b.Add(one, b.Multiply(t, t)));
  Instruction* s = AsTypeOf(b, b.Multiply(t, c), between);
  if (IsComplexArray(between)) {
    Instruction* phase = b.Divide(between, AsTypeOf(b, b.Select(rotates, size, one), between));
    s = b.Multiply(s, phase);
  }
  Instruction* moved = b.Multiply(t, signed_size);
  return {AsTypeOf(b, c, between), s, b.Subtract(p, moved), b.Add(q, moved)};
}

// first = c first - s second, second = conj(s) first + c second.
void Rotate(Builder& b, Along along, Instruction* c, Instruction* s, Instruction*& first,
            Instruction*& second) {
  const auto times = [&](Instruction* numbers, Instruction* x) {
    return b.Multiply(Spread(b, numbers, along, x), x);
  };
  Instruction* new_first = b.Subtract(times(c, first), times(s, second));
  second = b.Add(times(Conjugate(b, s), first), times(c, second));
  first = new_first;
}

// The tournament: the first one stays, all others move on by one place, round the two halves.
void MoveOn(Builder& b, Along along, Instruction*& first, Instruction*& second) {
  const int64_t dimension = first->shape().rank() - static_cast<int>(along);
  const int64_t k = first->shape().dim(static_cast<int>(dimension));
  if (k == 1) return;
  const auto part = [&](Instruction* x, int64_t from, int64_t to) {
    DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
    DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
    starts[static_cast<size_t>(dimension)] = from;
    limits[static_cast<size_t>(dimension)] = to;
    return b.Slice(x, starts, limits);
  };
  std::vector<Instruction*> parts = {part(first, 0, 1), part(second, 0, 1)};
  if (k > 2) parts.push_back(part(first, 1, k - 1));
  Instruction* new_first = b.Concatenate(parts, dimension);
  second = b.Concatenate({part(second, 1, k), part(first, k - 1, k)}, dimension);
  first = new_first;
}

State Step(Builder& b, State m) {
  const Rotations r = MakeRotations(b, m);
  Instruction* adjoint = Conjugate(b, r.s);
  Rotate(b, Along::kRows, r.c, r.s, m.tl, m.bl);
  Rotate(b, Along::kRows, r.c, r.s, m.tr, m.br);
  Rotate(b, Along::kColumns, r.c, adjoint, m.tl, m.tr);
  Rotate(b, Along::kColumns, r.c, adjoint, m.bl, m.br);
  Rotate(b, Along::kColumns, r.c, adjoint, m.left, m.right);
  m.tl = WithDiagonal(b, m.tl, r.first);
  m.tr = WithDiagonal(b, m.tr, b.ZeroLike(r.first));
  m.bl = WithDiagonal(b, m.bl, b.ZeroLike(r.first));
  m.br = WithDiagonal(b, m.br, r.second);
  MoveOn(b, Along::kColumns, m.tl, m.tr);
  MoveOn(b, Along::kColumns, m.bl, m.br);
  MoveOn(b, Along::kColumns, m.left, m.right);
  MoveOn(b, Along::kRows, m.tl, m.bl);
  MoveOn(b, Along::kRows, m.tr, m.br);
  return m;
}

// Whether what is off the diagonal of some matrix is not small. Numbers are divided by the largest
// one, so that their squares do not overflow.
Instruction* IsLarge(Builder& b, const State& m, float tolerance) {
  Instruction *largest = nullptr, *off = nullptr, *all = nullptr;
  const Instruction* quarters[] = {m.tl, m.tr, m.bl, m.br};
  std::vector<Instruction*> sizes;
  for (Instruction* quarter : {m.tl, m.tr, m.bl, m.br}) {
    sizes.push_back(b.Abs(quarter));
    Instruction* here = ReduceLast(b, sizes.back(), 2, Opcode::kMaximum, 0);
    largest = largest == nullptr ? here : b.Maximum(largest, here);
  }
  Instruction* scale =
      b.Select(b.Compare(largest, b.ZeroLike(largest), kGt), largest, b.ConstantLike(largest, 1));
  const auto add = [&b](Instruction* sum, Instruction* squares) {
    Instruction* here = ReduceLast(b, squares, 2, Opcode::kAdd, 0);
    return sum == nullptr ? here : b.Add(sum, here);
  };
  std::vector<int64_t> batch(static_cast<size_t>(scale->shape().rank()));
  absl::c_iota(batch, 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    Instruction* x = b.Divide(sizes[i], b.Broadcast(scale, sizes[i]->shape().dims(), batch));
    Instruction* squares = b.Multiply(x, x);
    all = add(all, squares);
    if (quarters[i] == m.tl || quarters[i] == m.br)
      squares = b.Select(OnDiagonal(b, squares), b.ZeroLike(squares), squares);
    off = add(off, squares);
  }
  Instruction* limit = b.ConstantLike(all, double{tolerance} * double{tolerance});
  Instruction* is_large = b.Compare(off, b.Multiply(limit, all), kGt);
  return ReduceLast(b, is_large, is_large->shape().rank(), Opcode::kOr, 0);
}

// The matrix that one triangle and the real part of the diagonal say.
Instruction* Hermitian(Builder& b, Instruction* a, bool lower) {
  Instruction* other = TransposeMatrices(b, Conjugate(b, a));
  Instruction* given = CompareRowAndColumn(b, a, lower ? kGt : kLt);
  return b.Select(OnDiagonal(b, a), AsTypeOf(b, RealPart(b, a), a), b.Select(given, a, other));
}

Instruction* PadRowsAndColumns(Builder& b, Instruction* x, int64_t rows, int64_t columns) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(x->shape().rank()));
  padding.dims[padding.dims.size() - 2].high = rows - RowsOf(x);
  padding.dims.back().high = columns - ColumnsOf(x);
  return b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
}

State Begin(Builder& b, Instruction* a) {
  const int64_t n = RowsOf(a), k = (n + 1) / 2;
  Instruction* identity = b.Select(OnDiagonal(b, a), b.ConstantLike(a, 1), b.ZeroLike(a));
  if (n % 2 != 0) {
    a = PadRowsAndColumns(b, a, 2 * k, 2 * k);
    identity = PadRowsAndColumns(b, identity, n, 2 * k);
  }
  return {TakeBlock(b, a, {0, 0, k, k}),        TakeBlock(b, a, {0, k, k, k}),
          TakeBlock(b, a, {k, 0, k, k}),        TakeBlock(b, a, {k, k, k, k}),
          TakeBlock(b, identity, {0, 0, n, k}), TakeBlock(b, identity, {0, k, n, k})};
}

struct Eigen {
  Instruction* vectors = nullptr;  // [batch…, n, n]
  Instruction* values = nullptr;   // [batch…, n]
};

// Both halves together, without the padding. A whole number of sweeps leaves the order as it was.
Eigen End(Builder& b, const State& m) {
  const int64_t n = RowsOf(m.left);
  Instruction* vectors = b.Concatenate({m.left, m.right}, m.left->shape().rank() - 1);
  Instruction* values =
      b.Concatenate({Diagonal(b, m.tl), Diagonal(b, m.br)}, m.left->shape().rank() - 2);
  values = RealPart(b, values);
  if (values->shape().dims().back() == n) return {vectors, values};
  DimVec limits(values->shape().dims().begin(), values->shape().dims().end());
  limits.back() = n;
  values = b.Slice(values, DimVec(limits.size(), 0), limits);
  return {TakeBlock(b, vectors, {0, 0, n, n}), values};
}

Computation* LessThan(Module& module, ElementType key, ElementType value) {
  Computation* order = module.AddComputation("compare-eigenvalues");
  Builder b(order);
  Instruction* lhs = b.Parameter(0, Shape::Scalar(key), "lhs");
  Instruction* rhs = b.Parameter(1, Shape::Scalar(key), "rhs");
  b.Parameter(2, Shape::Scalar(value), "lhs_vector");
  b.Parameter(3, Shape::Scalar(value), "rhs_vector");
  CompareAttrs attrs;
  attrs.direction = kLt;
  attrs.type = ComparisonType::kTotalOrder;
  order->set_root(b.Op(Opcode::kCompare, {lhs, rhs}, AttrsPtr::Make(attrs)));
  return order;
}

// Eigenvalues in ascending order, each row of the vectors with them.
Eigen Sorted(Builder& b, const Eigen& e) {
  Module& module = b.computation()->module();
  const Shape shape = e.vectors->shape();
  Instruction* keys = Spread(b, e.values, Along::kColumns, e.vectors);
  Computation* order = LessThan(module, keys->shape().element_type(), shape.element_type());
  order->set_execution_thread(b.computation()->execution_thread());
  module.MoveToFront(order, b.computation());
  Instruction* sorted =
      b.Op(Opcode::kSort, {keys, e.vectors},
           AttrsPtr::Make(SortAttrs{BracedDim{shape.rank() - 1}, /*is_stable=*/true}), {order});
  Instruction* first = TakeBlock(b, b.GetTupleElement(sorted, 0), {0, 0, 1, ColumnsOf(e.vectors)});
  return {b.GetTupleElement(sorted, 1), b.Reshape(first, e.values->shape().dims())};
}

absl::StatusOr<Eigen> Rotated(Builder& b, Instruction* a, const Config& config,
                              const Instruction* origin) {
  const int32_t rounds = static_cast<int32_t>((RowsOf(a) + 1) / 2 * 2 - 1);
  absl::Status status;
  const CountedLoopBody sweep = [&](Builder& in, Instruction*,
                                    const std::vector<Instruction*>& state) {
    const CountedLoopBody step = [](Builder& inner, Instruction*,
                                    const std::vector<Instruction*>& parts) {
      return Step(inner, State::Of(parts)).elements();
    };
    auto swept = MakeCountedLoop(in, rounds, state, step, "rotate_pairs", origin);
    if (!swept.ok()) status = swept.status();
    return swept.ok() ? *swept : state;
  };
  const LoopGoesOn goes_on = [&](Builder& in, const std::vector<Instruction*>& state) {
    return IsLarge(in, State::Of(state), config.tolerance);
  };
  ASSIGN_OR_RETURN(const std::vector<Instruction*> state,
                   MakeCountedLoop(b, config.max_sweeps, Begin(b, a).elements(), sweep,
                                   "diagonalize", origin, goes_on));
  RETURN_IF_ERROR(status);
  const Eigen eigen = End(b, State::Of(state));
  return config.sorted ? Sorted(b, eigen) : eigen;
}

}  // namespace

bool EighExpander::Matches(const Instruction& call) const {
  return call.attrs<CustomCallAttrs>().custom_call_target == "Eigh" &&
         !call.shape().has_dynamic_dims() && ReadConfig(call).has_value() &&
         linalg::MatchSignature(call).ok();
}

std::string EighExpander::Name(const Instruction& call) const {
  std::string name =
      fmt::format("xla.eigh_{}_{}", NamePart(call.operand(0)->shape()), call.backend_config());
  std::replace_if(
      name.begin() + 4, name.end(), [](char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
}

absl::StatusOr<Instruction*> EighExpander::Build(const Instruction& call,
                                                 const std::vector<Instruction*>& operands,
                                                 Builder& b) const {
  const std::optional<Config> config = ReadConfig(call);
  RET_CHECK(config.has_value(), "`{}` has another configuration", call.name());
  const Shape values = call.shape().element(1);
  Instruction* a = operands[0];
  if (a->shape().IsZeroSized())
    return b.Tuple({a, b.Broadcast(b.ScalarConstant(values.element_type(), 0), values.dims(), {})});
  a = Hermitian(b, a, config->lower);
  Eigen eigen;
  if (RowsOf(a) == 1) {
    eigen = {b.ConstantLike(a, 1), b.Reshape(RealPart(b, a), values.dims())};
  } else {
    ASSIGN_OR_RETURN(eigen, Rotated(b, a, *config, &call));
  }
  // What is no number anywhere makes everything that.
  Instruction* is_finite = b.IsFinite(RealPart(b, a));
  if (IsComplexArray(a)) is_finite = b.And(is_finite, b.IsFinite(b.Imag(a)));
  is_finite = ReduceLast(b, is_finite, 2, Opcode::kAnd, 1);
  const auto guarded = [&](Instruction* x) {
    std::vector<int64_t> batch(static_cast<size_t>(is_finite->shape().rank()));
    absl::c_iota(batch, 0);
    Instruction* nan = b.ConstantLike(x, std::numeric_limits<double>::quiet_NaN());
    return b.Select(b.Broadcast(is_finite, x->shape().dims(), batch), x, nan);
  };
  return b.Tuple({guarded(eigen.vectors), guarded(eigen.values)});
}

HLO_DEFINE_PASS(EighExpander)

}  // namespace hlo
