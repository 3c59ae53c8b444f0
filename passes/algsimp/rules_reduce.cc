// Rules rooted at reduce and reduce-window.
#include <algorithm>

#include "lib/analysis/region.h"
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

// A reduction of nothing  =>  broadcast(init)
Instruction* ReduceOfNothing(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || !reduce->shape().IsArray() || reduce->shape().has_dynamic_dims())
    return nullptr;
  if (!reduce->operand(0)->shape().IsZeroSized() && !reduce->shape().IsZeroSized()) return nullptr;
  return BroadcastLike(rewriter, reduce->operand(1), reduce);
}

// A reduction of several arrays of nothing  =>  tuple(broadcast(init), …)
Instruction* ReduceSeveralOfNothing(Instruction* reduce, Rewriter& rewriter) {
  if (IsPlainReduce(reduce) || reduce->shape().has_dynamic_dims() ||
      !reduce->operand(0)->shape().IsZeroSized())
    return nullptr;
  std::vector<Instruction*> results;
  const int count = reduce->operand_count() / 2;
  for (int i = 0; i < count; ++i) {
    Instruction* init = reduce->operand(count + i);
    const Shape shape = reduce->shape().element(i);
    results.push_back(shape.IsScalar() ? init : rewriter.Broadcast(init, shape.dims(), {}));
  }
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

// A reduction of dimensions of size 1  =>  reshape, combined with the start value.
// XLA drops the start value; ours keeps it unless it is the identity.
Instruction* ReduceOfOnes(Instruction* reduce, Rewriter& rewriter) {
  if (!IsPlainReduce(reduce) || reduce->shape().has_dynamic_dims() ||
      reduce->operand(0)->shape().element_count() != reduce->shape().element_count())
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode) return nullptr;
  Instruction* x = reduce->operand(0);
  if (!SameDimensions(x->shape(), reduce->shape())) x = rewriter.Reshape(x, reduce->shape().dims());
  return CombineWith(rewriter, *opcode, x, reduce->operand(1));
}

// sum(-x)  =>  -sum(x)
Instruction* ReduceOfNegate(Instruction* reduce, Rewriter& rewriter) {
  Instruction* x;
  if (!IsPlainReduce(reduce) || CombinerOf(reduce) != Opcode::kAdd || !IsFloating(reduce) ||
      !Match(reduce->operand(0), m::Negate(m::Any(&x))) || !Match(reduce->operand(1), m::Zero()))
    return nullptr;
  return rewriter.Negate(SameReduce(rewriter, reduce, x, ReducedDims(reduce)));
}

// reduce(transpose(x))  =>  reduce(x), transposed when the order of what is left changes
Instruction* ReduceOfTranspose(Instruction* reduce, Rewriter& rewriter) {
  Instruction* transpose = reduce->operand(0);
  if (!IsPlainReduce(reduce) || transpose->opcode() != Opcode::kTranspose) return nullptr;
  const bool only_reduces =
      std::all_of(transpose->uses().begin(), transpose->uses().end(),
                  [](const Use& use) { return use.user->opcode() == Opcode::kReduce; });
  if (reduce->shape().rank() >= 2 && !transpose->has_one_user() && !only_reduces) return nullptr;
  const DimVec& order = transpose->attrs<TransposeAttrs>().dimensions;
  DimVec dims, kept;
  for (size_t i = 0; i < order.size(); ++i) {
    (Contains(ReducedDims(reduce), static_cast<int64_t>(i)) ? dims : kept).push_back(order[i]);
  }
  std::sort(dims.begin(), dims.end());
  Instruction* result = SameReduce(rewriter, reduce, transpose->operand(0), dims);
  if (std::is_sorted(kept.begin(), kept.end())) return result;
  DimVec sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  DimVec permutation;
  for (int64_t dim : kept)
    permutation.push_back(std::find(sorted.begin(), sorted.end(), dim) - sorted.begin());
  return rewriter.Transpose(result, permutation);
}

// reduce(reduce(x))  =>  reduce(x), for the same start value and combiner
Instruction* ReduceOfReduce(Instruction* reduce, Rewriter& rewriter) {
  Instruction* inner = reduce->operand(0);
  if (!IsPlainReduce(reduce) || inner->opcode() != Opcode::kReduce || !IsPlainReduce(inner) ||
      inner->operand(1) != reduce->operand(1))
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode || CombinerOf(inner) != opcode ||
      (*opcode != Opcode::kAdd && *opcode != Opcode::kMultiply && *opcode != Opcode::kAnd &&
       *opcode != Opcode::kOr && inner->to_apply() != reduce->to_apply()) ||
      !IsIdentityOf(*opcode, *reduce->operand(1)))
    return nullptr;
  DimVec left;  // dimensions of x after the inner reduction
  for (int64_t i = 0; i < inner->operand(0)->shape().rank(); ++i) {
    if (!Contains(ReducedDims(inner), i)) left.push_back(i);
  }
  DimVec dims = ReducedDims(inner);
  for (int64_t dim : ReducedDims(reduce)) dims.push_back(left[static_cast<size_t>(dim)]);
  std::sort(dims.begin(), dims.end());
  return SameReduce(rewriter, reduce, inner->operand(0), dims);
}

// reduce(reshape(x))  =>  reduce(x), when what is kept or what is reduced is left
//     alone by the reshape
Instruction* ReduceOfReshape(Instruction* reduce, Rewriter& rewriter) {
  Instruction* reshape = reduce->operand(0);
  if (!IsPlainReduce(reduce) || reshape->opcode() != Opcode::kReshape ||
      reshape->shape().has_dynamic_dims() || reshape->shape().IsZeroSized())
    return nullptr;
  Instruction* x = reshape->operand(0);
  const DimVec moved = UnmodifiedDims(x->shape(), reshape->shape());
  int64_t kept = 0;
  DimVec others, reduced;
  for (int64_t i = 0; i < x->shape().rank(); ++i) {
    const int64_t to = moved[static_cast<size_t>(i)];
    if (to >= 0 && !Contains(ReducedDims(reduce), to)) {
      ++kept;
    } else {
      others.push_back(i);
    }
    if (to >= 0 && Contains(ReducedDims(reduce), to)) reduced.push_back(i);
  }
  if (kept == reduce->shape().rank() && !others.empty())
    return SameReduce(rewriter, reduce, x, others);
  if (reduced.size() == ReducedDims(reduce).size() && reshape->has_one_user())
    return rewriter.Reshape(SameReduce(rewriter, reduce, x, reduced), reduce->shape().dims());
  return nullptr;
}

// reduce(concatenate(a, b)) along its dimension  =>  op(reduce(a), reduce(b))
Instruction* ReduceOfConcat(Instruction* reduce, Rewriter& rewriter) {
  Instruction* concat = reduce->operand(0);
  if (!IsPlainReduce(reduce) || concat->opcode() != Opcode::kConcatenate ||
      !Contains(ReducedDims(reduce), concat->attrs<ConcatenateAttrs>().dimensions.value))
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  if (!opcode || !IsIdentityOf(*opcode, *reduce->operand(1))) return nullptr;
  Instruction* result = nullptr;
  for (Instruction* part : concat->operands()) {
    Instruction* partial = SameReduce(rewriter, reduce, part, ReducedDims(reduce));
    result = result == nullptr ? partial : rewriter.Op(*opcode, {result, partial});
  }
  return result;
}

// reduce(broadcast(x)): by max, min, and, or of one value  =>  that value; of dimensions that x has
//     =>  broadcast(reduce(x));  a sum over dimensions that the broadcast added  =>  x * n
Instruction* ReduceOfBroadcast(Instruction* reduce, Rewriter& rewriter) {
  Instruction* broadcast = reduce->operand(0);
  if (!IsPlainReduce(reduce) || broadcast->opcode() != Opcode::kBroadcast ||
      broadcast->shape().IsZeroSized() || broadcast->shape().has_dynamic_dims())
    return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(reduce);
  const DimVec& dims = broadcast->attrs<BroadcastAttrs>().dimensions;
  if (!opcode) return nullptr;
  Instruction* x = broadcast->operand(0);
  const bool idempotent = *opcode == Opcode::kMaximum || *opcode == Opcode::kMinimum ||
                          *opcode == Opcode::kAnd || *opcode == Opcode::kOr;
  if (idempotent && x->shape().IsScalar() && reduce->shape().IsScalar())
    return CombineWith(rewriter, *opcode, x, reduce->operand(1));
  DimVec own;   // reduced dimensions as dimensions of x
  DimVec kept;  // dimensions of x that stay, as dimensions of the result
  int64_t added = 1;
  bool all_own = true;
  for (int64_t dim : ReducedDims(reduce)) {
    const auto at = std::find(dims.begin(), dims.end(), dim);
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
  std::sort(own.begin(), own.end());
  if (all_own && !own.empty())
    return rewriter.Broadcast(SameReduce(rewriter, reduce, x, own), reduce->shape().dims(), kept);
  if (!own.empty() || *opcode != Opcode::kAdd) return nullptr;
  const bool identity = IsIdentityOf(*opcode, *reduce->operand(1));
  Instruction* one = x;
  if (!SameDimensions(x->shape(), reduce->shape()) || !std::is_sorted(dims.begin(), dims.end()))
    one = rewriter.Broadcast(x, reduce->shape().dims(), kept);
  Instruction* sum = rewriter.Multiply(
      one, SplatOf(rewriter, reduce->shape().element_type(), static_cast<double>(added), one));
  return identity ? sum : rewriter.Add(sum, BroadcastLike(rewriter, reduce->operand(1), sum));
}

// ---- reduce-window ----

const Window& WindowOf(const Instruction* op) { return op->attrs<ReduceWindowAttrs>().window; }

// A window over nothing  =>  broadcast(init);  over a scalar  =>  op(x, init)
Instruction* WindowOfNothing(Instruction* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || !op->shape().IsArray() || op->shape().has_dynamic_dims())
    return nullptr;
  if (op->operand(0)->shape().IsZeroSized() || op->shape().IsZeroSized())
    return BroadcastLike(rewriter, op->operand(1), op);
  const std::optional<Opcode> opcode = CombinerOf(op);
  if (!op->operand(0)->shape().IsScalar() || !opcode) return nullptr;
  return CombineWith(rewriter, *opcode, op->operand(0), op->operand(1));
}

// Windows of one element  =>  op(x, init), padded with init
Instruction* WindowOfOnes(Instruction* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || op->shape().has_dynamic_dims()) return nullptr;
  const std::optional<Opcode> opcode = CombinerOf(op);
  if (!opcode) return nullptr;
  PaddingConfig padding;
  bool pads = false;
  for (const WindowDim& dim : WindowOf(op).dims) {
    if (dim.size != 1 || dim.stride != 1 || dim.base_dilation != 1 || dim.window_dilation != 1 ||
        dim.reversal)
      return nullptr;
    padding.dims.push_back({dim.pad_low, dim.pad_high, 0});
    pads = pads || dim.pad_low != 0 || dim.pad_high != 0;
  }
  if (pads && !IsIdentityOf(*opcode, *op->operand(1))) return nullptr;
  Instruction* x = CombineWith(rewriter, *opcode, op->operand(0), op->operand(1));
  return pads ? rewriter.Pad(x, op->operand(1), padding) : x;
}

// Windows that see whole dimensions  =>  reshape(reduce(x))
Instruction* WindowToReduceWhole(Instruction* op, Rewriter& rewriter) {
  if (!op->shape().IsArray() || op->shape().has_dynamic_dims()) return nullptr;
  DimVec dims;
  for (size_t i = 0; i < WindowOf(op).dims.size(); ++i) {
    const WindowDim& dim = WindowOf(op).dims[i];
    if (dim.stride != 1 || dim.base_dilation != 1 || dim.window_dilation != 1 || dim.reversal ||
        dim.pad_low != 0 || dim.pad_high != 0)
      return nullptr;
    if (dim.size == 1) continue;
    if (op->shape().dim(static_cast<int>(i)) != 1) return nullptr;
    dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return nullptr;
  return rewriter.Reshape(SameReduce(rewriter, op, op->operand(0), dims), op->shape().dims());
}

// reduce-window(pad(x, init))  =>  reduce-window(x) with wider padding
Instruction* WindowOfPad(Instruction* op, Rewriter& rewriter) {
  if (!op->shape().IsArray() || op->shape().has_dynamic_dims()) return nullptr;
  Instruction* input = op->operand(0);
  const bool converted = input->opcode() == Opcode::kConvert;
  Instruction* pad = converted ? input->operand(0) : input;
  if (pad->opcode() != Opcode::kPad) return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  const Instruction* init = op->operand(1);
  const Instruction* value = pad->operand(1);
  if (value != init) {
    if (!value->IsConstant() || !init->IsConstant() || value->literal().is_elided() ||
        init->literal().is_elided())
      return nullptr;
    const absl::StatusOr<Literal> as_init =
        value->literal().Converted(init->shape().element_type());
    if (!as_init.ok() || !(*as_init == init->literal())) return nullptr;
  }
  // Elements of the array count, padding of the window does not.
  if (!MayStartAgain(*op)) return nullptr;
  ReduceWindowAttrs attrs = op->attrs<ReduceWindowAttrs>();
  int windows = 0;
  double ratio = 0;
  for (size_t i = 0; i < padding.dims.size(); ++i) {
    WindowDim& dim = attrs.window.dims[i];
    const PaddingDim& extra = padding.dims[i];
    if (extra.interior != 0 && dim.base_dilation != 1) return nullptr;
    if (extra.low < 0 || extra.high < 0) return nullptr;
    if (dim.size != 1) {
      ++windows;
      ratio = static_cast<double>(extra.low + extra.high) /
              static_cast<double>(std::max<int64_t>(1, pad->shape().dim(static_cast<int>(i))));
    }
    dim.pad_low += dim.base_dilation * extra.low;
    dim.pad_high += dim.base_dilation * extra.high;
    if (extra.interior != 0) dim.base_dilation = 1 + extra.interior;
  }
  if (converted && windows == 1 && ratio < 0.1) return nullptr;
  Instruction* x = pad->operand(0);
  if (converted) x = rewriter.Convert(x, input->shape().element_type());
  return rewriter.OpWithShape(Opcode::kReduceWindow, op->shape(), {x, op->operand(1)},
                              AttrsPtr::Make(std::move(attrs)), {op->to_apply()});
}

constexpr Rule kReduceRules[] = {
    {"reduce-of-nothing", Opcode::kReduce, kExact, ReduceOfNothing},
    {"reduce-window-of-nothing", Opcode::kReduceWindow, kExact, WindowOfNothing},
    {"reduce-window-of-ones", Opcode::kReduceWindow, kExceptSpecials, WindowOfOnes},
    {"reduce-window-of-pad", Opcode::kReduceWindow, kExact, WindowOfPad},
};
constexpr Rule kFreeReduceRules[] = {
    {"reduce-of-ones", Opcode::kReduce, kExceptSpecials, ReduceOfOnes},
    {"reduce-several-of-nothing", Opcode::kReduce, kExact, ReduceSeveralOfNothing},
    {"reduce-to-tuple-of-one", Opcode::kReduce, kExact, ReduceToTupleOfOne},
    {"reduce-window-to-tuple-of-one", Opcode::kReduceWindow, kExact, ReduceToTupleOfOne},
    {"reduce-of-negate", Opcode::kReduce, kExceptSpecials, ReduceOfNegate},
    {"reduce-of-transpose", Opcode::kReduce, kReassociate, ReduceOfTranspose},
    {"reduce-of-reduce", Opcode::kReduce, kReassociate, ReduceOfReduce},
    {"reduce-of-concatenate", Opcode::kReduce, kReassociate, ReduceOfConcat},
    {"reduce-of-broadcast", Opcode::kReduce, kReassociate, ReduceOfBroadcast},
};
constexpr Rule kReduceOfReshapeRules[] = {
    {"reduce-of-reshape", Opcode::kReduce, kExact, ReduceOfReshape}};
constexpr Rule kWindowToReduceRules[] = {
    {"reduce-window-to-reduce", Opcode::kReduceWindow, kReassociate, WindowToReduceWhole}};

}  // namespace

std::span<const Rule> ReduceRules() { return kReduceRules; }
std::span<const Rule> FreeReduceRules() { return kFreeReduceRules; }
std::span<const Rule> ReduceOfReshapeRules() { return kReduceOfReshapeRules; }
std::span<const Rule> WindowToReduceRules() { return kWindowToReduceRules; }

}  // namespace hlo::algsimp
