// Rules rooted at reduce and reduce-window.
#include <cmath>

#include "lib/analysis/region.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

const DimVec& ReducedDims(const Instruction* reduce) {
  return reduce->attrs<ReduceAttrs>().dimensions;
}

std::optional<Opcode> CombinerOf(const Instruction* op) { return CombinerOpcode(*op->to_apply()); }

bool IsPlainReduce(const Instruction* reduce) { return reduce->operand_count() == 2; }

Instruction* SameReduce(Rewriter& rewriter, const Instruction* like, Instruction* x,
                        const DimVec& dims) {
  return rewriter.Reduce(x, like->operand(1), dims, like->to_apply());
}

// x combined with a scalar; x alone when that is the identity.
Instruction* CombineWith(Rewriter& rewriter, Opcode opcode, Instruction* x, Instruction* init) {
  if (IsIdentityOf(opcode, *init)) return x;
  return rewriter.Op(opcode, {x, BroadcastLike(rewriter, init, x)});
}

// `scalar` as an array of this shape, its layout kept.
Instruction* FilledWith(Rewriter& rewriter, Instruction* scalar, Shape shape) {
  return shape.IsScalar() ? scalar : BroadcastTo(rewriter, scalar, shape, {});
}

// A reduction of nothing, or a window over nothing  =>  broadcast(init); of several arrays  =>
//     tuple(broadcast(init), …)
Instruction* ReduceOfNothing(Instruction* op, Rewriter& rewriter) {
  const Shape first = op->shape().IsTuple() ? op->shape().element(0) : op->shape();
  if (op->shape().has_dynamic_dims() ||
      (!op->operand(0)->shape().IsZeroSized() && !first.IsZeroSized()))
    return nullptr;
  if (op->shape().IsArray()) return FilledWith(rewriter, op->operand(1), op->shape());
  std::vector<Instruction*> results;
  const int count = op->operand_count() / 2;
  for (int i = 0; i < count; ++i)
    results.push_back(FilledWith(rewriter, op->operand(count + i), op->shape().element(i)));
  return rewriter.Tuple(results);
}

// (r) = reduce(x), by a computation that returns (s)  =>  tuple(reduce(x)), by one that returns s
Instruction* ReduceToTupleOfOne(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || !reduce->shape().IsTuple()) return nullptr;
  Computation* combiner = reduce->to_apply();
  if (combiner->root()->opcode() != Opcode::kTuple) return nullptr;
  Module& module = rewriter.module();
  Computation* plain = module.CloneComputation(*combiner, ".plain", /*deep=*/false);
  module.MoveToFront(plain, reduce->parent());
  Instruction* tuple = plain->root();
  plain->set_root(tuple->operand(0));
  plain->Remove(tuple);
  return rewriter.Tuple({rewriter.OpWithShape(reduce->opcode(), reduce->shape().element(0),
                                              {reduce->operand(0), reduce->operand(1)},
                                              reduce->attrs_ptr(), {plain})});
}

bool IsOwnParameter(const Instruction* x, int number) {
  return x->opcode() == Opcode::kParameter && x->parameter_number() == number;
}

// What combines single elements. What a region rounds to narrower floats each time is left out
// where the elements have been such, and the start value changes nothing.
std::optional<Opcode> CombinerOfOnes(const Instruction* reduce) {
  if (const std::optional<Opcode> opcode = CombinerOf(reduce)) return opcode;
  Instruction *x, *narrow, *combined;
  const Instruction* root = reduce->to_apply()->root();
  if (!Match(root, m::Convert(m::Convert(&narrow, m::Any(&combined)))) ||
      !Match(reduce->operand(0), m::Convert(m::Any(&x))) ||
      x->shape().element_type() != narrow->shape().element_type() ||
      combined->shape().element_type() != root->shape().element_type() ||
      combined->operand_count() != 2 || !IsOwnParameter(combined->operand(0), 0) ||
      !IsOwnParameter(combined->operand(1), 1) ||
      !IsIdentityOf(combined->opcode(), *reduce->operand(1)))
    return std::nullopt;
  return combined->opcode();
}

// A reduction of dimensions of size 1  =>  reshape, combined with the start value.
// XLA drops the start value; ours keeps it unless it is the identity.
Instruction* ReduceOfOnes(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || !reduce->shape().IsArray() || reduce->shape().has_dynamic_dims() ||
      reduce->operand(0)->shape().element_count() != reduce->shape().element_count())
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOfOnes(reduce);
  if (!opcode) return nullptr;
  Instruction* x = reduce->operand(0);
  if (!SameDimensions(x->shape(), reduce->shape())) x = rewriter.Reshape(x, reduce->shape().dims());
  return CombineWith(rewriter, *opcode, x, reduce->operand(1));
}

// Whether `x` cannot be -0: its elements are those of a sum that begins with 0. One of narrow
// floats is carried in a wider type, and may end with a number that rounds to -0.
bool IsNeverMinusZero(const Instruction* x) {
  constexpr OpcodeSet kMoves = {Opcode::kReshape, Opcode::kBroadcast, Opcode::kTranspose,
                                Opcode::kCopy};
  while (kMoves.Has(x->opcode())) x = x->operand(0);
  return x->opcode() == Opcode::kReduce && IsPlainReduce(x) && x->shape().IsArray() &&
         BitWidth(x->shape().element_type()) >= 32 && CombinerOf(x) == Opcode::kAdd &&
         Match(x->operand(1), m::Zero());
}

// The same where every bit stays. 0 + -0 is 0.
Instruction* ReduceOfOnesExactly(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || !reduce->shape().IsArray()) return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode || !IsIdentityOf(*opcode, *reduce->operand(1))) return nullptr;
  if (*opcode == Opcode::kAdd && IsFloating(reduce) && !IsNeverMinusZero(reduce->operand(0)))
    return nullptr;
  return ReduceOfOnes(reduce, rewriter);
}

// The same for fixed layouts, where the reshape moves nothing.
Instruction* ReduceOfOnesInPlace(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || !reduce->shape().IsArray() || reduce->shape().has_dynamic_dims())
    return nullptr;
  Instruction* x = reduce->operand(0);
  const std::optional<Opcode> opcode = CombinerOfOnes(reduce);
  if (x->shape().element_count() != reduce->shape().element_count() || !opcode ||
      !IsIdentityOf(*opcode, *reduce->operand(1)) || !ReshapeIsBitcast(x->shape(), reduce->shape()))
    return nullptr;
  return rewriter.OpWithShape(Opcode::kReshape, reduce->shape(), {x});
}

// A reduction of several arrays along dimensions of size 1, or windows over scalars, each by an
// operation of its own that its start value changes nothing of  =>  tuple(reshape(x), …)
Instruction* ReduceSeveralOfOnes(Instruction* reduce, Rewriter& rewriter) {
  const int count = reduce->operand_count() / 2;
  const Instruction* root = reduce->to_apply()->root();
  const Shape first = reduce->operand(0)->shape();
  if (!reduce->shape().IsTuple() || reduce->shape().has_dynamic_dims() ||
      root->opcode() != Opcode::kTuple ||
      (reduce->opcode() == Opcode::kReduceWindow && !first.IsScalar()) ||
      first.element_count() != reduce->shape().element(0).element_count())
    return nullptr;
  for (int i = 0; i < count; ++i) {
    const Instruction* combined = root->operand(i);
    const bool of_two =
        combined->operand_count() == 2 && ((IsOwnParameter(combined->operand(0), i) &&
                                            IsOwnParameter(combined->operand(1), count + i)) ||
                                           (IsOwnParameter(combined->operand(1), i) &&
                                            IsOwnParameter(combined->operand(0), count + i)));
    if (!of_two || !IsIdentityOf(combined->opcode(), *reduce->operand(count + i))) return nullptr;
  }
  std::vector<Instruction*> results;
  for (int i = 0; i < count; ++i) {
    Instruction* x = reduce->operand(i);
    const Shape result = reduce->shape().element(i);
    results.push_back(SameDimensions(x->shape(), result) ? x : rewriter.Reshape(x, result.dims()));
  }
  return rewriter.Tuple(results);
}

// sum(-x)  =>  -sum(x)
Instruction* ReduceOfNegate(Instruction* reduce, Rewriter& rewriter) {
  Instruction* x;
  if (!IsPlainReduce(reduce) || CombinerOf(reduce) != Opcode::kAdd || !IsFloating(reduce) ||
      !Match(reduce->operand(0), m::Negate(m::Any(&x))) || !Match(reduce->operand(1), m::Zero()))
    return nullptr;
  return rewriter.Negate(SameReduce(rewriter, reduce, x, ReducedDims(reduce)));
}

// Whether reductions are all that reads `x`.
bool OnlyFeedsReductions(const Instruction* x) {
  return absl::c_all_of(x->uses(),
                        [](const Use& use) { return use.user->opcode() == Opcode::kReduce; });
}

// reduce(transpose(x))  =>  reduce(x), transposed when the order of what is left changes
Instruction* ReduceOfAnyTranspose(Instruction* reduce, Rewriter& rewriter) {
  Instruction* transpose = reduce->operand(0);
  if (!IsPlainReduce(reduce) || transpose->opcode() != Opcode::kTranspose ||
      !reduce->shape().IsArray())
    return nullptr;
  const DimVec& order = transpose->attrs<TransposeAttrs>().dimensions;
  DimVec dims, kept;
  for (const int64_t dim : ReducedDims(reduce)) dims.push_back(order[static_cast<size_t>(dim)]);
  for (const int64_t dim : order) {
    if (!Contains(dims, dim)) kept.push_back(dim);
  }
  Instruction* result = SameReduce(rewriter, reduce, transpose->operand(0), dims);
  if (absl::c_is_sorted(kept)) return result;
  DimVec sorted = kept;
  absl::c_sort(sorted);
  DimVec permutation;
  for (int64_t dim : kept) permutation.push_back(absl::c_find(sorted, dim) - sorted.begin());
  return rewriter.Transpose(result, permutation);
}

Instruction* ReduceOfTranspose(Instruction* reduce, Rewriter& rewriter) {
  const Instruction* transpose = reduce->operand(0);
  if (!reduce->shape().IsArray() || (reduce->shape().rank() >= 2 && !transpose->has_one_user() &&
                                     !OnlyFeedsReductions(transpose)))
    return nullptr;
  return ReduceOfAnyTranspose(reduce, rewriter);
}

bool AreSameConstant(const Instruction* a, const Instruction* b) {
  return a == b || (a->IsConstant() && b->IsConstant() && !a->literal().is_elided() &&
                    !b->literal().is_elided() && a->literal() == b->literal());
}

// reduce(reduce(x))  =>  reduce(x), for the same start value and combiner
Instruction* ReduceOfReduce(Instruction* reduce, Rewriter& rewriter) {
  Instruction* inner = reduce->operand(0);
  if (!IsPlainReduce(reduce) || inner->opcode() != Opcode::kReduce || !IsPlainReduce(inner) ||
      !reduce->shape().IsArray() || !inner->shape().IsArray() ||
      !AreSameConstant(inner->operand(1), reduce->operand(1)))
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode || CombinerOf(inner) != opcode || !MayStartAgain(*reduce)) return nullptr;
  DimVec left;  // dimensions of x after the inner reduction
  for (int64_t i = 0; i < inner->operand(0)->shape().rank(); ++i) {
    if (!Contains(ReducedDims(inner), i)) left.push_back(i);
  }
  DimVec dims = ReducedDims(inner);
  for (int64_t dim : ReducedDims(reduce)) dims.push_back(left[static_cast<size_t>(dim)]);
  absl::c_sort(dims);
  return SameReduce(rewriter, reduce, inner->operand(0), dims);
}

// reduce(reshape(x))  =>  reduce(x), when what is kept or what is reduced is left
//     alone by the reshape
Instruction* ReduceOfReshapes(Instruction* reduce, Rewriter& rewriter, bool of_all_users) {
  Instruction* reshape = reduce->operand(0);
  if (!IsPlainReduce(reduce) || reshape->opcode() != Opcode::kReshape ||
      !reduce->shape().IsArray() || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized())
    return nullptr;
  Instruction* x = reshape->operand(0);
  const DimVec moved = UnmodifiedDims(x->shape(), reshape->shape());
  int64_t kept = 0;
  DimVec others;
  for (int64_t i = 0; i < x->shape().rank(); ++i) {
    const int64_t to = moved[static_cast<size_t>(i)];
    if (to >= 0 && !Contains(ReducedDims(reduce), to)) {
      ++kept;
    } else {
      others.push_back(i);
    }
  }
  if (kept == reduce->shape().rank() && !others.empty())
    return SameReduce(rewriter, reduce, x, others);
  DimVec reduced;
  for (const int64_t dim : ReducedDims(reduce)) {
    const auto from = absl::c_find(moved, dim);
    if (from == moved.end()) return nullptr;
    reduced.push_back(from - moved.begin());
  }
  if (!of_all_users && !reshape->has_one_user()) return nullptr;
  return rewriter.Reshape(SameReduce(rewriter, reduce, x, reduced), reduce->shape().dims());
}

Instruction* ReduceOfReshape(Instruction* reduce, Rewriter& rewriter) {
  return ReduceOfReshapes(reduce, rewriter, /*of_all_users=*/false);
}
Instruction* ReduceOfAnyReshape(Instruction* reduce, Rewriter& rewriter) {
  return ReduceOfReshapes(reduce, rewriter, /*of_all_users=*/true);
}

// reduce(concatenate(a, b)) along its dimension  =>  op(reduce(a), reduce(b))
Instruction* ReduceOfConcat(Instruction* reduce, Rewriter& rewriter) {
  Instruction* concat = reduce->operand(0);
  if (!IsPlainReduce(reduce) || concat->opcode() != Opcode::kConcatenate ||
      !reduce->shape().IsArray() ||
      !Contains(ReducedDims(reduce), concat->attrs<ConcatenateAttrs>().dimensions.value))
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode || !MayStartAgain(*reduce)) return nullptr;
  Instruction* result = nullptr;
  for (Instruction* part : concat->operands()) {
    Instruction* partial = SameReduce(rewriter, reduce, part, ReducedDims(reduce));
    result = result == nullptr ? partial : rewriter.Op(*opcode, {result, partial});
  }
  return result;
}

// The same, if the parts are alike or the result is a scalar.
Instruction* ReduceOfEvenConcat(Instruction* reduce, Rewriter& rewriter) {
  const Instruction* concat = reduce->operand(0);
  const bool alike = absl::c_all_of(concat->operands(), [&](const Instruction* part) {
    return Compatible(part->shape(), concat->operand(0)->shape());
  });
  return alike || reduce->shape().IsScalar() ? ReduceOfConcat(reduce, rewriter) : nullptr;
}

// Whether elements of the type come near enough to the number; integers count in a circle.
bool HoldsNumber(ElementType type, int64_t number) {
  if (!IsFloat(type)) return true;
  Literal held(Shape::Scalar(type));
  held.SetDouble(0, static_cast<double>(number));
  return std::abs(held.GetDouble(0) / static_cast<double>(number) - 1) < 0.125;
}

// reduce(broadcast(x)): by max, min, and, or of one value  =>  that value; of dimensions that x has
//     =>  broadcast(reduce(x));  a sum over dimensions that the broadcast added  =>  x * n
Instruction* ReduceOfBroadcast(Instruction* reduce, Rewriter& rewriter) {
  Instruction* broadcast = reduce->operand(0);
  if (!IsPlainReduce(reduce) || broadcast->opcode() != Opcode::kBroadcast ||
      !reduce->shape().IsArray() || broadcast->shape().IsZeroSized() ||
      broadcast->shape().has_dynamic_dims())
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  const DimVec& dims = broadcast->attrs<BroadcastAttrs>().dimensions;
  Instruction* x = broadcast->operand(0);
  if (opcode && IsIdempotent(*opcode) && x->shape().IsScalar() && reduce->shape().IsScalar())
    return CombineWith(rewriter, *opcode, x, reduce->operand(1));
  DimVec own;   // reduced dimensions as dimensions of x
  DimVec kept;  // dimensions of x that stay, as dimensions of the result
  int64_t added = 1;
  bool all_own = true;
  for (int64_t dim : ReducedDims(reduce)) {
    const auto at = absl::c_find(dims, dim);
    if (at == dims.end()) {
      all_own = false;
      added *= broadcast->shape().dim(static_cast<int>(dim));
    } else {
      own.push_back(at - dims.begin());
    }
  }
  for (int64_t dim : dims) {
    if (Contains(ReducedDims(reduce), dim)) continue;
    int64_t before = 0;
    for (int64_t other : ReducedDims(reduce)) before += other < dim ? 1 : 0;
    kept.push_back(dim - before);
  }
  if (all_own && !own.empty())
    return rewriter.Broadcast(SameReduce(rewriter, reduce, x, own), reduce->shape().dims(), kept);
  if (!own.empty() || opcode != Opcode::kAdd || IsPred(x->shape().element_type()) ||
      !HoldsNumber(x->shape().element_type(), added))
    return nullptr;
  Instruction* count = rewriter.Constant(Literal::Scalar(x->shape().element_type(), added));
  Instruction* sum = rewriter.Multiply(x, BroadcastLike(rewriter, count, x));
  if (!IsIdentityOf(*opcode, *reduce->operand(1)))
    sum = rewriter.Add(BroadcastLike(rewriter, reduce->operand(1), sum), sum);
  if (SameDimensions(x->shape(), reduce->shape()) && absl::c_is_sorted(dims)) return sum;
  return rewriter.Broadcast(sum, reduce->shape().dims(), kept);
}

// ---- reduce-window ----

const Window& WindowOf(const Instruction* op) { return op->attrs<ReduceWindowAttrs>().window; }

// A window over a scalar  =>  op(x, init)
Instruction* WindowOfScalar(Instruction* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || !op->shape().IsArray()) return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(op);
  if (!op->operand(0)->shape().IsScalar() || !opcode) return nullptr;
  return CombineWith(rewriter, *opcode, op->operand(0), op->operand(1));
}

// Windows of one element, of which the sum, the largest or the smallest is wanted
//     =>  op(x, init), padded with init
Instruction* WindowOfOnes(Instruction* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || !op->shape().IsArray() || op->shape().has_dynamic_dims())
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(op);
  if (opcode != Opcode::kAdd && opcode != Opcode::kMaximum && opcode != Opcode::kMinimum)
    return nullptr;
  PaddingConfig padding;
  bool pads = false;
  for (const WindowDim& dim : WindowOf(op).dims) {
    if (dim.size != 1 || dim.stride != 1 || dim.base_dilation != 1 || dim.window_dilation != 1 ||
        dim.reversal)
      return nullptr;
    padding.dims.push_back({dim.pad_low, dim.pad_high, 0});
    pads = pads || dim.pad_low != 0 || dim.pad_high != 0;
  }
  if (pads && !MayStartAgain(*op)) return nullptr;
  Instruction* x = CombineWith(rewriter, *opcode, op->operand(0), op->operand(1));
  return pads ? rewriter.Pad(x, op->operand(1), padding) : x;
}

// Windows that see whole dimensions  =>  reshape(reduce(x))
Instruction* WindowToReduceWhole(Instruction* op, Rewriter& rewriter) {
  if (!op->shape().IsArray() || op->shape().has_dynamic_dims()) return nullptr;
  DimVec dims;
  for (size_t i = 0; i < WindowOf(op).dims.size(); ++i) {
    const WindowDim& dim = WindowOf(op).dims[i];
    if (dim.stride != 1 || dim.base_dilation != 1 || dim.window_dilation != 1 || dim.pad_low != 0 ||
        dim.pad_high != 0)
      return nullptr;
    if (dim.size == 1) continue;
    if (op->shape().dim(static_cast<int>(i)) != 1) return nullptr;
    dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return nullptr;
  return rewriter.Reshape(SameReduce(rewriter, op, op->operand(0), dims), op->shape().dims());
}

// Whether padding with `value` adds what reductions of `op` start with.
bool PadsWithStart(const Instruction* value, const Instruction* init) {
  if (value == init) return true;
  if (!value->IsConstant() || !init->IsConstant() || value->literal().is_elided() ||
      init->literal().is_elided())
    return false;
  const absl::StatusOr<Literal> as_init = value->literal().Converted(init->shape().element_type());
  return as_init.ok() && *as_init == init->literal();
}

// Whether each window over `pad` sees one element that is not padding.
bool SeesOneElement(const Instruction* op, const Instruction* pad) {
  for (int i = 0; i < op->shape().rank(); ++i) {
    const WindowDim& dim = WindowOf(op).dims[static_cast<size_t>(i)];
    const PaddingDim& extra = pad->attrs<PadAttrs>().padding.dims[static_cast<size_t>(i)];
    if (dim.stride != 1 || extra.low != extra.high || extra.interior != 0) return false;
    if (dim.size == 1 && extra.low == 0) {
      if (dim != WindowDim{}) return false;
      continue;
    }
    // The element stands at `at`; the first window begins at 0, the last one ends with the array.
    const int64_t at = dim.pad_low + extra.low;
    if (pad->operand(0)->shape().dim(i) != 1 || dim.base_dilation != 1 ||
        dim.window_dilation != 1 || dim.size <= at || op->shape().dim(i) - 1 > at)
      return false;
  }
  return true;
}

// The window of `op` with `padding` in it; none if the two do not go together.
std::optional<Window> WindowWith(const Instruction* op, const PaddingConfig& padding) {
  Window window = WindowOf(op);
  const bool dilated =
      absl::c_any_of(window.dims, [](const WindowDim& dim) { return dim.base_dilation != 1; });
  for (size_t i = 0; i < padding.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    const PaddingDim& extra = padding.dims[i];
    if ((extra.interior != 0 && dilated) || extra.low < 0 || extra.high < 0) return std::nullopt;
    dim.pad_low += dim.base_dilation * extra.low;
    dim.pad_high += dim.base_dilation * extra.high;
    if (extra.interior != 0) dim.base_dilation = 1 + extra.interior;
  }
  return window;
}

// Whether all windows run along one dimension, of which `pad` is only a small part: a running sum,
// which other rules know better without that padding.
bool PadsLongScan(const Instruction* op, const Instruction* pad) {
  int along = -1;
  for (int i = 0; i < op->operand(0)->shape().rank(); ++i) {
    if (WindowOf(op).dims[static_cast<size_t>(i)] == WindowDim{}) continue;
    if (along >= 0) return false;
    along = i;
  }
  if (along < 0) return false;
  const PaddingDim& extra = pad->attrs<PadAttrs>().padding.dims[static_cast<size_t>(along)];
  return static_cast<double>(extra.low + extra.high) <
         0.1 * static_cast<double>(pad->shape().dim(along));
}

// reduce-window(pad(x, init))  =>  reduce-window(x) with wider padding; broadcast(x), when each
//     window sees one element of x
Instruction* WindowOfPad(Instruction* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || !op->shape().IsArray() || op->shape().has_dynamic_dims())
    return nullptr;
  Instruction* input = op->operand(0);
  const bool converted = input->opcode() == Opcode::kConvert;
  Instruction* pad = converted ? input->operand(0) : input;
  if (pad->opcode() != Opcode::kPad || (converted && PadsLongScan(op, pad))) return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  // Elements of the array count, padding of the window does not.
  if (!PadsWithStart(pad->operand(1), op->operand(1)) || !MayStartAgain(*op)) return nullptr;
  const std::optional<Window> window = WindowWith(op, padding);
  if (!window) return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(op);
  const bool broadcasts =
      opcode && IsIdentityOf(*opcode, *op->operand(1)) && SeesOneElement(op, pad);
  Instruction* x = pad->operand(0);
  if (converted) x = rewriter.Convert(x, input->shape().element_type());
  if (broadcasts) {
    DimVec sizes, places;
    for (int i = 0; i < op->shape().rank(); ++i) {
      if (x->shape().dim(i) != op->shape().dim(i)) continue;
      sizes.push_back(x->shape().dim(i));
      places.push_back(i);
    }
    if (static_cast<int>(sizes.size()) != x->shape().rank()) x = rewriter.Reshape(x, sizes);
    return rewriter.Broadcast(x, op->shape().dims(), places);
  }
  return rewriter.OpWithShape(Opcode::kReduceWindow, op->shape(), {x, op->operand(1)},
                              AttrsPtr::Make(ReduceWindowAttrs{*window}), {op->to_apply()});
}

// Whether windows are as large as what was padded: they hold more from one to the next, as those of
// a cumulative sum, which is computed as such only while it begins where the array does.
bool SeesAllOfPadded(const Instruction& op, const Instruction& pad) {
  const Window& window = op.attrs<ReduceWindowAttrs>().window;
  for (size_t d = 0; d < window.dims.size(); ++d) {
    const int64_t size = pad.operand(0)->shape().dim(static_cast<int>(d));
    if (size > 1 && window.dims[d].size >= size) return true;
  }
  return false;
}

Instruction* SmallWindowOfPad(Instruction* op, Rewriter& rewriter) {
  const Instruction* input = op->operand(0);
  if (input->opcode() == Opcode::kConvert) input = input->operand(0);
  if (input->opcode() == Opcode::kPad && SeesAllOfPadded(*op, *input)) return nullptr;
  return WindowOfPad(op, rewriter);
}

constexpr Rule kReduceRules[] = {
    {"reduce-of-nothing", Opcode::kReduce, kExact, ReduceOfNothing},
    // Sums of narrow floats are carried in a wider type, but not those in a tuple.
    {"reduce-to-tuple-of-one", Opcode::kReduce, kReassociate, ReduceToTupleOfOne},
    {"reduce-window-of-nothing", Opcode::kReduceWindow, kExact, ReduceOfNothing},
    {"reduce-window-of-scalar", Opcode::kReduceWindow, kExact, WindowOfScalar},
    {"reduce-window-of-scalars", Opcode::kReduceWindow, kExceptSpecials, ReduceSeveralOfOnes},
    {"reduce-window-to-tuple-of-one", Opcode::kReduceWindow, kReassociate, ReduceToTupleOfOne},
    {"reduce-window-of-ones", Opcode::kReduceWindow, kExceptSpecials, WindowOfOnes},
};
constexpr Rule kWindowOfPadRules[] = {
    {"reduce-window-of-pad", Opcode::kReduceWindow, kExact, WindowOfPad}};
constexpr Rule kSmallWindowOfPadRules[] = {
    {"reduce-window-of-pad", Opcode::kReduceWindow, kExact, SmallWindowOfPad}};
constexpr Rule kLayoutReduceRules[] = {
    {"reduce-of-ones-in-place", Opcode::kReduce, kExceptSpecials, ReduceOfOnesInPlace}};
constexpr Rule kFreeReduceRules[] = {
    {"reduce-of-ones-exactly", Opcode::kReduce, kExact, ReduceOfOnesExactly},
    {"reduce-of-ones", Opcode::kReduce, kExceptSpecials, ReduceOfOnes},
    {"reduce-several-of-ones", Opcode::kReduce, kExceptSpecials, ReduceSeveralOfOnes},
    {"reduce-of-negate", Opcode::kReduce, kExceptSpecials, ReduceOfNegate},
};
constexpr Rule kReduceOfTransposeRules[] = {
    {"reduce-of-transpose", Opcode::kReduce, kReassociate, ReduceOfTranspose}};
constexpr Rule kReduceOfAnyTransposeRules[] = {
    {"reduce-of-any-transpose", Opcode::kReduce, kReassociate, ReduceOfAnyTranspose}};
constexpr Rule kReduceOfReduceRules[] = {
    {"reduce-of-reduce", Opcode::kReduce, kReassociate, ReduceOfReduce}};
constexpr Rule kReduceOfReshapeRules[] = {
    {"reduce-of-reshape", Opcode::kReduce, kExact, ReduceOfReshape}};
constexpr Rule kReduceOfAnyReshapeRules[] = {
    {"reduce-of-any-reshape", Opcode::kReduce, kExact, ReduceOfAnyReshape}};
constexpr Rule kReduceOfConcatRules[] = {
    {"reduce-of-concatenate", Opcode::kReduce, kReassociate, ReduceOfConcat}};
constexpr Rule kReduceOfEvenConcatRules[] = {
    {"reduce-of-even-concatenate", Opcode::kReduce, kReassociate, ReduceOfEvenConcat}};
constexpr Rule kReduceOfBroadcastRules[] = {
    {"reduce-of-broadcast", Opcode::kReduce, kReassociate, ReduceOfBroadcast}};
constexpr Rule kWindowToReduceRules[] = {
    {"reduce-window-to-reduce", Opcode::kReduceWindow, kReassociate, WindowToReduceWhole}};

}  // namespace

std::span<const Rule> ReduceRules() { return kReduceRules; }
std::span<const Rule> LayoutReduceRules() { return kLayoutReduceRules; }
std::span<const Rule> FreeReduceRules() { return kFreeReduceRules; }
std::span<const Rule> ReduceOfTransposeRules(bool of_all_users) {
  if (of_all_users) return kReduceOfAnyTransposeRules;
  return kReduceOfTransposeRules;
}
std::span<const Rule> ReduceOfReduceRules() { return kReduceOfReduceRules; }
std::span<const Rule> ReduceOfReshapeRules(bool of_all_users) {
  if (of_all_users) return kReduceOfAnyReshapeRules;
  return kReduceOfReshapeRules;
}
std::span<const Rule> ReduceOfConcatRules(bool of_all_shapes) {
  if (of_all_shapes) return kReduceOfConcatRules;
  return kReduceOfEvenConcatRules;
}
std::span<const Rule> ReduceOfBroadcastRules() { return kReduceOfBroadcastRules; }
std::span<const Rule> WindowToReduceRules() { return kWindowToReduceRules; }
std::span<const Rule> WindowOfPadRules(bool only_small) {
  return only_small ? std::span<const Rule>(kSmallWindowOfPadRules) : kWindowOfPadRules;
}

}  // namespace hlo::algsimp
