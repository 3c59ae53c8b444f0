#include "passes/expand/reduce_window_rewriter.h"

#include <algorithm>
#include <numeric>

#include "lib/analysis/region.h"
#include "lib/types/cumulative_window.h"

namespace hlo {
namespace {

// A cumulative reduction along the last dimension.
struct Scan {
  Instruction* init;
  Computation* combiner;
  bool from_end;
  int64_t base_length;
};

int LastDimension(const Instruction* x) { return x->shape().rank() - 1; }
int64_t LengthOf(const Instruction* x) { return x->shape().dim(LastDimension(x)); }

PaddingConfig PadLast(const Instruction* x, int64_t low, int64_t high) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(x->shape().rank()));
  padding.dims.back().low = low;
  padding.dims.back().high = high;
  return padding;
}

// Elements [begin, end) of the last dimension.
Instruction* SliceLast(Instruction* x, int64_t begin, int64_t end, Rewriter& rewriter) {
  std::vector<int64_t> starts(static_cast<size_t>(x->shape().rank()), 0);
  std::vector<int64_t> limits(x->shape().dims().begin(), x->shape().dims().end());
  starts.back() = begin;
  limits.back() = end;
  return rewriter.Slice(x, starts, limits);
}

// reduce-window with this window; over [n, 1] where `x` has one dimension.
Instruction* ReduceWindowOver(Instruction* x, Instruction* init, Window window,
                              Computation* combiner, Rewriter& rewriter) {
  const bool is_vector = x->shape().rank() == 1;
  // The elements lie as in the vector: the added dimension is the major one.
  const auto as_column = [](Shape shape) {
    return shape.WithLayout(Layout::FromMinorToMajor({{0, 1}}));
  };
  if (is_vector) {
    const Shape column = Shape::Array(x->shape().element_type(), {{x->shape().dim(0), 1}});
    x = rewriter.OpWithShape(Opcode::kReshape, as_column(column), {x});
    window.dims.resize(2);
  }
  Instruction* result =
      rewriter.Op(Opcode::kReduceWindow, {x, init},
                  AttrsPtr::Make(ReduceWindowAttrs{std::move(window)}), {combiner});
  if (!is_vector) return result;
  result->set_shape(as_column(result->shape()));
  return rewriter.Reshape(result, {result->shape().dim(0)});
}

Instruction* ScanAtOnce(Instruction* x, const Scan& scan, Rewriter& rewriter) {
  Window window;
  window.dims.resize(static_cast<size_t>(x->shape().rank()));
  WindowDim& last = window.dims.back();
  last.size = LengthOf(x);
  (scan.from_end ? last.pad_high : last.pad_low) = last.size - 1;
  return ReduceWindowOver(x, scan.init, std::move(window), scan.combiner, rewriter);
}

Instruction* ScanInParts(Instruction* x, const Scan& scan, Rewriter& rewriter) {
  const int64_t length = LengthOf(x), part = scan.base_length;
  const int64_t parts = (length + part - 1) / part;
  const int64_t more = parts * part - length;
  if (more > 0) x = rewriter.Pad(x, scan.init, PadLast(x, 0, more));
  const std::vector<int64_t> whole(x->shape().dims().begin(), x->shape().dims().end());
  std::vector<int64_t> split = whole;
  split.back() = parts;
  const std::vector<int64_t> one_each = split;
  split.push_back(part);
  Instruction* inside = ScanAtOnce(rewriter.Reshape(x, split), scan, rewriter);
  const int64_t total_at = scan.from_end ? 0 : part - 1;
  Instruction* totals =
      rewriter.Reshape(SliceLast(inside, total_at, total_at + 1, rewriter), one_each);
  // What is before a part: the totals up to the one before it, of a scan that is one longer.
  Window others;
  others.dims.resize(one_each.size());
  others.dims.back().size = parts;
  (scan.from_end ? others.dims.back().pad_high : others.dims.back().pad_low) = parts;
  Instruction* up_to = ReduceWindowOver(totals, scan.init, others, scan.combiner, rewriter);
  Instruction* before = scan.from_end ? SliceLast(up_to, 1, parts + 1, rewriter)
                                      : SliceLast(up_to, 0, parts, rewriter);
  std::vector<int64_t> dimensions(one_each.size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  Instruction* spread = rewriter.Broadcast(before, split, dimensions);
  DimVec all(split.size());
  std::iota(all.begin(), all.end(), 0);
  Instruction* combined = rewriter.OpWithShape(Opcode::kMap, inside->shape(), {inside, spread},
                                               AttrsPtr::Make(MapAttrs{all}), {scan.combiner});
  Instruction* result = rewriter.Reshape(combined, whole);
  return more > 0 ? SliceLast(result, 0, length, rewriter) : result;
}

std::optional<CumulativeWindow> CumulativeOf(const Instruction& reduce_window) {
  return CumulativeWindowOf(reduce_window.attrs<ReduceWindowAttrs>().window,
                            reduce_window.operand(0)->shape().dims());
}

}  // namespace

bool ReduceWindowRewriter::Matches(const Instruction& instruction) const {
  const ElementType type = instruction.operand(0)->shape().element_type();
  if (instruction.operand_count() != 2 || instruction.shape().element_type() != type ||
      instruction.to_apply()->root()->shape().element_type() != type ||
      instruction.shape().has_dynamic_dims() || instruction.operand(0)->shape().has_dynamic_dims())
    return false;
  return instruction.shape().rank() == 1 || IsLongScan(instruction);
}

bool ReduceWindowRewriter::IsLongScan(const Instruction& instruction) const {
  const std::optional<CumulativeWindow> window = CumulativeOf(instruction);
  if (!window || options_.base_length < 2) return false;
  const std::optional<Opcode> opcode = CombinerOpcode(*instruction.to_apply());
  return opcode && IsIdentityOf(*opcode, *instruction.operand(1)) &&
         instruction.shape().dim(static_cast<int>(window->dimension)) > options_.base_length;
}

absl::StatusOr<Instruction*> ReduceWindowRewriter::Expand(Instruction* reduce_window,
                                                          Rewriter& rewriter) {
  Instruction* x = reduce_window->operand(0);
  if (!IsLongScan(*reduce_window)) {
    return ReduceWindowOver(x, reduce_window->operand(1),
                            reduce_window->attrs<ReduceWindowAttrs>().window,
                            reduce_window->to_apply(), rewriter);
  }
  const CumulativeWindow window = *CumulativeOf(*reduce_window);
  const Scan scan = {reduce_window->operand(1), reduce_window->to_apply(), window.from_end,
                     options_.base_length};
  std::vector<int64_t> permutation(static_cast<size_t>(x->shape().rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[window.dimension], permutation.back());
  const bool is_last = static_cast<int>(window.dimension) == LastDimension(x);
  if (!is_last) x = rewriter.Transpose(x, permutation);
  Instruction* result = ScanInParts(x, scan, rewriter);
  return is_last ? result : rewriter.Transpose(result, permutation);
}

HLO_DEFINE_PASS(ReduceWindowRewriter)

}  // namespace hlo
