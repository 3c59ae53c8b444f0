#include "passes/expand/reduce_window_rewriter.h"

#include <algorithm>
#include <numeric>

#include "lib/analysis/region.h"
#include "lib/types/cumulative_window.h"
#include "passes/expand/column_window.h"

namespace hlo {
namespace {

// A cumulative reduction of one or several arrays along their last dimension.
struct Scan {
  Arrays inits;
  Computation* combiner;
  bool from_end;
  int64_t base_length;
};

int LastDimension(const Instruction* x) { return x->shape().rank() - 1; }
int64_t LengthOf(const Instruction* x) { return x->shape().dim(LastDimension(x)); }

// `x` with the layout of `like`, of the same number of dimensions.
Instruction* LaidOutAs(const Instruction* like, Instruction* x) {
  if (like->shape().has_layout() && x->shape().has_layout())
    x->set_shape(
        x->shape().WithLayout(Layout::FromMinorToMajor(like->shape().layout().minor_to_major)));
  return x;
}

// `low` and `high` elements more along a dimension.
Instruction* PadAlong(int dimension, Instruction* x, Instruction* value, int64_t low, int64_t high,
                      Rewriter& rewriter) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(x->shape().rank()));
  padding.dims[static_cast<size_t>(dimension)].low = low;
  padding.dims[static_cast<size_t>(dimension)].high = high;
  return LaidOutAs(x, rewriter.Pad(x, value, padding));
}

// Elements [begin, end) along a dimension.
Instruction* SliceAlong(int dimension, Instruction* x, int64_t begin, int64_t end,
                        Rewriter& rewriter) {
  std::vector<int64_t> starts(static_cast<size_t>(x->shape().rank()), 0);
  std::vector<int64_t> limits(x->shape().dims().begin(), x->shape().dims().end());
  starts[static_cast<size_t>(dimension)] = begin;
  limits[static_cast<size_t>(dimension)] = end;
  return LaidOutAs(x, rewriter.Slice(x, starts, limits));
}

// Two dimensions change places; no byte moves.
Instruction* Swap(Instruction* x, int a, int b, Rewriter& rewriter) {
  std::vector<int64_t> permutation(static_cast<size_t>(x->shape().rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[static_cast<size_t>(a)], permutation[static_cast<size_t>(b)]);
  Instruction* transpose = rewriter.Transpose(x, permutation);
  if (x->shape().has_layout()) {
    Layout layout = x->shape().layout();
    for (int64_t& d : layout.minor_to_major) d = permutation[static_cast<size_t>(d)];
    transpose->set_shape(transpose->shape().WithLayout(layout));
  }
  return transpose;
}

Arrays ScanAtOnce(const Arrays& xs, const Scan& scan, Rewriter& rewriter) {
  Window window;
  window.dims.resize(static_cast<size_t>(xs[0]->shape().rank()));
  WindowDim& last = window.dims.back();
  last.size = LengthOf(xs[0]);
  (scan.from_end ? last.pad_high : last.pad_low) = last.size - 1;
  return ReduceWindowOver(xs, scan.inits, std::move(window), scan.combiner, rewriter);
}

// For each part what all parts before it (after it) come to.
Arrays TotalsBefore(const Arrays& inside, const std::vector<Shape>& one_each, const Scan& scan,
                    Rewriter& rewriter) {
  Arrays totals;
  for (size_t k = 0; k < inside.size(); ++k) {
    const int64_t at = scan.from_end ? 0 : scan.base_length - 1;
    Instruction* total = SliceAlong(LastDimension(inside[k]), inside[k], at, at + 1, rewriter);
    totals.push_back(ReshapeTo(total, one_each[k], rewriter));
  }
  // A scan that is one longer: the first of its values is that of nothing.
  const int64_t parts = LengthOf(totals[0]);
  Window window;
  window.dims.resize(static_cast<size_t>(totals[0]->shape().rank()));
  window.dims.back().size = parts;
  (scan.from_end ? window.dims.back().pad_high : window.dims.back().pad_low) = parts;
  Arrays before = ReduceWindowOver(totals, scan.inits, std::move(window), scan.combiner, rewriter);
  for (Instruction*& value : before) {
    value = scan.from_end ? SliceAlong(LastDimension(value), value, 1, parts + 1, rewriter)
                          : SliceAlong(LastDimension(value), value, 0, parts, rewriter);
  }
  return before;
}

// Result `k` of the combiner alone.
Computation* CombinerOf(size_t k, const Scan& scan) {
  if (!scan.combiner->root()->shape().IsTuple()) return scan.combiner;
  Module& module = scan.combiner->module();
  Computation* one = module.CloneComputation(*scan.combiner, ".clone", /*deep=*/false);
  module.MoveToFront(one, scan.combiner);
  Instruction* tuple = one->root();
  one->set_root(tuple->operand(static_cast<int>(k)));
  one->RemoveUnused(tuple);
  return one;
}

// The values of the scan along the last dimension, filled up to whole parts.
Arrays ScanInParts(Arrays xs, const Scan& scan, Rewriter& rewriter) {
  const int64_t length = LengthOf(xs[0]), part = scan.base_length;
  const int64_t parts = (length + part - 1) / part;
  std::vector<Shape> whole, split, one_each;
  for (size_t k = 0; k < xs.size(); ++k) {
    if (const int64_t more = parts * part - length; more > 0)
      xs[k] = PadAlong(LastDimension(xs[k]), xs[k], scan.inits[k], 0, more, rewriter);
    whole.push_back(xs[k]->shape());
    split.push_back(CutLast(whole[k], part));
    one_each.push_back(whole[k].WithDim(LastDimension(xs[k]), parts));
    xs[k] = ReshapeTo(xs[k], split[k], rewriter);
  }
  const Arrays inside = ScanAtOnce(xs, scan, rewriter);
  const Arrays before = TotalsBefore(inside, one_each, scan, rewriter);
  Arrays operands = inside;
  std::vector<int64_t> dimensions(static_cast<size_t>(whole[0].rank()));
  std::iota(dimensions.begin(), dimensions.end(), 0);
  for (size_t k = 0; k < xs.size(); ++k) {
    operands.push_back(rewriter.Broadcast(before[k], split[k].dims(), dimensions));
    operands.back()->set_shape(split[k]);
  }
  DimVec all(static_cast<size_t>(split[0].rank()));
  std::iota(all.begin(), all.end(), 0);
  Arrays results;
  for (size_t k = 0; k < xs.size(); ++k) {
    Instruction* combined = rewriter.OpWithShape(
        Opcode::kMap, split[k], operands, AttrsPtr::Make(MapAttrs{all}), {CombinerOf(k, scan)});
    results.push_back(ReshapeTo(combined, whole[k], rewriter));
  }
  return results;
}

// A cumulative window; exclusive: it also has one value more, that of nothing, at its start.
struct FoundScan {
  CumulativeWindow window;
  bool is_exclusive;
};

std::optional<FoundScan> ScanOf(const Instruction& reduce_window) {
  Window window = reduce_window.attrs<ReduceWindowAttrs>().window;
  const absl::Span<const int64_t> dims = reduce_window.operand(0)->shape().dims();
  bool is_exclusive = false;
  for (size_t d = 0; d < window.dims.size(); ++d) {
    WindowDim& dim = window.dims[d];
    if (dim.size != dims[d] || dim.size < 2) continue;
    if ((dim.pad_low == dim.size) == (dim.pad_high == dim.size)) continue;
    --(dim.pad_low == dim.size ? dim.pad_low : dim.pad_high);
    is_exclusive = true;
  }
  const std::optional<CumulativeWindow> found = CumulativeWindowOf(window, dims);
  if (!found) return std::nullopt;
  return FoundScan{*found, is_exclusive};
}

// The commutative operation that makes result `k` of two values number `k` out of `count`.
std::optional<Opcode> OperationOfResult(const Computation& combiner, int k, int count) {
  if (!combiner.root()->shape().IsTuple()) return CombinerOpcode(combiner);
  if (combiner.root()->opcode() != Opcode::kTuple) return std::nullopt;
  const Instruction& value = *combiner.root()->operand(k);
  if (value.operand_count() != 2 || !IsCommutative(value.opcode())) return std::nullopt;
  const Instruction& a = *combiner.parameter(k);
  const Instruction& b = *combiner.parameter(count + k);
  const bool reads_both = (value.operand(0) == &a && value.operand(1) == &b) ||
                          (value.operand(0) == &b && value.operand(1) == &a);
  if (!reads_both) return std::nullopt;
  return value.opcode();
}

// Whether values may be combined in any order, and with the initial ones any number of times.
bool IsFreeToRegroup(const Instruction& reduce_window) {
  const Computation& combiner = *reduce_window.to_apply();
  const int count = reduce_window.operand_count() / 2;
  for (int k = 0; k < count; ++k) {
    const std::optional<Opcode> opcode = OperationOfResult(combiner, k, count);
    if (!opcode || !IsIdentityOf(*opcode, *reduce_window.operand(count + k))) return false;
  }
  return true;
}

}  // namespace

bool ReduceWindowRewriter::Matches(const Instruction& instruction) const {
  return IsOfOneKind(instruction) &&
         (instruction.operand(0)->shape().rank() == 1 || IsLongScan(instruction));
}

bool ReduceWindowRewriter::IsLongScan(const Instruction& instruction) const {
  if (options_.base_length < 2) return false;
  const std::optional<FoundScan> scan = ScanOf(instruction);
  if (!scan) return false;
  const Shape operand = instruction.operand(0)->shape();
  if (operand.dim(static_cast<int>(scan->window.dimension)) <= options_.base_length) return false;
  const Instruction& root = *instruction.to_apply()->root();
  if (root.shape().IsTuple() && root.opcode() != Opcode::kTuple) return false;
  return options_.assume_associative || IsFreeToRegroup(instruction);
}

absl::StatusOr<Instruction*> ReduceWindowRewriter::Expand(Instruction* reduce_window,
                                                          Rewriter& rewriter) {
  const int count = reduce_window->operand_count() / 2;
  Arrays xs, inits;
  for (int k = 0; k < count; ++k) {
    xs.push_back(reduce_window->operand(k));
    inits.push_back(reduce_window->operand(count + k));
  }
  Arrays results;
  if (!IsLongScan(*reduce_window)) {
    results = ReduceWindowOver(xs, inits, reduce_window->attrs<ReduceWindowAttrs>().window,
                               reduce_window->to_apply(), rewriter);
  } else {
    const FoundScan found = *ScanOf(*reduce_window);
    const Scan scan = {inits, reduce_window->to_apply(), found.window.from_end,
                       options_.base_length};
    const int at = static_cast<int>(found.window.dimension), last = LastDimension(xs[0]);
    const int64_t length = xs[0]->shape().dim(at);
    if (at != last) {
      for (Instruction*& x : xs) x = Swap(x, at, last, rewriter);
    }
    results = ScanInParts(xs, scan, rewriter);
    for (size_t k = 0; k < results.size(); ++k) {
      Instruction*& result = results[k];
      if (at != last) result = Swap(result, at, last, rewriter);
      if (result->shape().dim(at) > length) result = SliceAlong(at, result, 0, length, rewriter);
      if (found.is_exclusive)
        result =
            PadAlong(at, result, inits[k], scan.from_end ? 0 : 1, scan.from_end ? 1 : 0, rewriter);
    }
  }
  return reduce_window->shape().IsTuple() ? rewriter.Tuple(results) : results[0];
}

HLO_DEFINE_PASS(ReduceWindowRewriter)

}  // namespace hlo
