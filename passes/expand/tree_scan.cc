#include "passes/expand/tree_scan.h"

#include <numeric>

#include "lib/support/round.h"

namespace hlo {
namespace {

int LastDimension(const Instruction* x) { return x->shape().rank() - 1; }
int64_t LengthOf(const Instruction* x) { return x->shape().dim(LastDimension(x)); }

// `x` with the layout of `like`, of the same number of dimensions.
Instruction* LaidOutAs(const Instruction* like, Instruction* x) {
  if (like->shape().has_layout() && x->shape().has_layout())
    x->set_shape(
        x->shape().WithLayout(Layout::FromMinorToMajor(like->shape().layout().minor_to_major)));
  return x;
}

}  // namespace

Instruction* PadAlong(int dimension, Instruction* x, Instruction* value, int64_t low, int64_t high,
                      Rewriter& rewriter) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(x->shape().rank()));
  padding.dims[static_cast<size_t>(dimension)].low = low;
  padding.dims[static_cast<size_t>(dimension)].high = high;
  return LaidOutAs(x, rewriter.Pad(x, value, padding));
}

Instruction* SliceAlong(int dimension, Instruction* x, int64_t begin, int64_t end,
                        Rewriter& rewriter) {
  std::vector<int64_t> starts(static_cast<size_t>(x->shape().rank()), 0);
  std::vector<int64_t> limits(x->shape().dims().begin(), x->shape().dims().end());
  starts[static_cast<size_t>(dimension)] = begin;
  limits[static_cast<size_t>(dimension)] = end;
  return LaidOutAs(x, rewriter.Slice(x, starts, limits));
}

namespace {

// Two dimensions change places; no byte moves.
Instruction* Swap(Instruction* x, int a, int b, Rewriter& rewriter) {
  std::vector<int64_t> permutation(static_cast<size_t>(x->shape().rank()));
  absl::c_iota(permutation, 0);
  std::swap(permutation[static_cast<size_t>(a)], permutation[static_cast<size_t>(b)]);
  Instruction* transpose = rewriter.Transpose(x, permutation);
  if (x->shape().has_layout()) {
    Layout layout = x->shape().layout();
    for (int64_t& d : layout.minor_to_major) d = permutation[static_cast<size_t>(d)];
    transpose->set_shape(transpose->shape().WithLayout(layout));
  }
  return transpose;
}

Arrays WindowsOver(const Arrays& xs, Window window, const TreeScan& scan, Rewriter& rewriter) {
  if (scan.has_columns || xs[0]->shape().rank() > 1)
    return ReduceWindowOver(xs, scan.inits, std::move(window), scan.combiner, rewriter);
  const AttrsPtr attrs = AttrsPtr::Make(ReduceWindowAttrs{std::move(window)});
  return {LaidOutAs(
      xs[0], rewriter.Op(Opcode::kReduceWindow, {xs[0], scan.inits[0]}, attrs, {scan.combiner}))};
}

Arrays ScanAtOnce(const Arrays& xs, const TreeScan& scan, Rewriter& rewriter) {
  Window window;
  window.dims.resize(static_cast<size_t>(xs[0]->shape().rank()));
  WindowDim& last = window.dims.back();
  last.size = LengthOf(xs[0]);
  (scan.from_end ? last.pad_high : last.pad_low) = last.size - 1;
  return WindowsOver(xs, std::move(window), scan, rewriter);
}

// For each part what all parts before it (after it) come to.
Arrays TotalsBefore(const Arrays& inside, const std::vector<Shape>& one_each, const TreeScan& scan,
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
  Arrays before = WindowsOver(totals, std::move(window), scan, rewriter);
  for (Instruction*& value : before) {
    value = scan.from_end ? SliceAlong(LastDimension(value), value, 1, parts + 1, rewriter)
                          : SliceAlong(LastDimension(value), value, 0, parts, rewriter);
  }
  return before;
}

// Result `k` of the combiner alone.
Computation* CombinerOf(size_t k, const TreeScan& scan) {
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
Arrays ScanAlongLast(Arrays xs, const TreeScan& scan, Rewriter& rewriter) {
  const int64_t length = LengthOf(xs[0]), part = scan.base_length;
  const int64_t parts = CeilDiv(length, part);
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
  absl::c_iota(dimensions, 0);
  for (size_t k = 0; k < xs.size(); ++k) {
    operands.push_back(rewriter.Broadcast(before[k], split[k].dims(), dimensions));
    operands.back()->set_shape(split[k]);
  }
  DimVec all(static_cast<size_t>(split[0].rank()));
  absl::c_iota(all, 0);
  Arrays results;
  for (size_t k = 0; k < xs.size(); ++k) {
    Instruction* combined = rewriter.OpWithShape(
        Opcode::kMap, split[k], operands, AttrsPtr::Make(MapAttrs{all}), {CombinerOf(k, scan)});
    results.push_back(ReshapeTo(combined, whole[k], rewriter));
  }
  return results;
}

}  // namespace

Arrays ScanInParts(Arrays xs, int dimension, const TreeScan& scan, Rewriter& rewriter) {
  const int last = LastDimension(xs[0]);
  const int64_t length = xs[0]->shape().dim(dimension);
  if (dimension != last) {
    for (Instruction*& x : xs) x = Swap(x, dimension, last, rewriter);
  }
  Arrays results = ScanAlongLast(std::move(xs), scan, rewriter);
  for (Instruction*& result : results) {
    if (dimension != last) result = Swap(result, dimension, last, rewriter);
    if (result->shape().dim(dimension) > length)
      result = SliceAlong(dimension, result, 0, length, rewriter);
  }
  return results;
}

}  // namespace hlo
