#include "passes/gpu/gpu_tree_reduction_rewriter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/analysis/region.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

// n elements, padded to outer * inner; runs of `inner` are reduced first.
struct Split {
  int64_t outer, inner;
};

// Rows whose threads read pairs gain by it; columns always by short outer steps.
bool ShouldSwap(Split s, int64_t n, const ReductionShape& shape) {
  if (s.outer > RaceFreeBound(shape)) return false;
  if (!shape.is_row) return true;
  if (s.inner % 2 == 0 && n % 2 == 0) return s.inner * 2 < s.outer || s.outer % 2 == 0;
  return n % 2 == 0 || s.outer % 2 != 0;
}

// The inner step is between half the root of n and the root, with as little padding as can be; of
// several, a power of two.
Split SplitOf(int64_t n, const ReductionShape& shape) {
  const auto padding = [&](int64_t inner) { return (inner - n % inner) % inner; };
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  const int64_t most = std::min(root, RaceFreeBound(shape));
  int64_t best = most;
  for (int64_t i = most - 1; i > most / 2; --i) {
    const bool is_power = std::has_single_bit(static_cast<uint64_t>(i));
    if (padding(i) < padding(best) || (padding(i) == padding(best) && is_power)) best = i;
  }
  const Split split = {(n + padding(best)) / best, best};
  return ShouldSwap(split, n, shape) ? Split{split.inner, split.outer} : split;
}

DimVec SortedDims(const Instruction& reduce) {
  DimVec dims = reduce.attrs<ReduceAttrs>().dimensions;
  absl::c_sort(dims);
  return dims;
}

bool HasLargeBatch(const ReductionShape& shape) {
  return shape.is_row && shape.sizes[0] > kRaceFreeBatch;
}

// The element types of the results, with these dimensions.
std::vector<Shape> ResultsWith(const Instruction& reduce, const DimVec& sizes) {
  std::vector<Shape> results;
  for (int i = 0; i < reduce.operand_count() / 2; ++i)
    results.push_back(Shape::Array(ResultOf(reduce, i).element_type(), sizes));
  return results;
}

// The second step: what the first gave, reduced along `dim`.
Instruction* Outer(Instruction* reduce, Instruction* inner, int64_t dim, Rewriter& rewriter) {
  std::vector<Shape> results;
  for (int i = 0; i < reduce->operand_count() / 2; ++i) results.push_back(ResultOf(*reduce, i));
  return ReducedAs(*reduce, ResultsOf(inner, rewriter), results, {dim}, rewriter);
}

// Rows first, then the batch.
Instruction* BatchLast(Instruction* reduce, Rewriter& rewriter) {
  const DimVec dims = SortedDims(*reduce);
  const Shape shape = reduce->operand(0)->shape();
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  sizes.erase(sizes.begin() + dims[1]);
  std::vector<Instruction*> inputs = reduce->operand_vector();
  inputs.resize(inputs.size() / 2);
  Instruction* rows = ReducedTo(*reduce, inputs, ResultsWith(*reduce, sizes), {dims[1]}, rewriter);
  return Outer(reduce, rows, dims[0], rewriter);
}

// `x` with `dim` padded to the split, and cut.
Instruction* Cut(Instruction* x, Instruction* init, int64_t dim, Split split, Rewriter& rewriter) {
  DimVec sizes(x->shape().dims().begin(), x->shape().dims().end());
  const auto at = static_cast<size_t>(dim);
  const int64_t padding = split.outer * split.inner - sizes[at];
  if (padding > 0) {
    PaddingConfig config;
    config.dims.resize(sizes.size());
    config.dims[at].high = padding;
    Instruction* const padded = rewriter.Pad(x, init, config);
    padded->set_metadata(x->metadata());
    x = padded;
  }
  sizes[at] = split.outer;
  sizes.insert(sizes.begin() + dim + 1, split.inner);
  Instruction* const cut = rewriter.Bitcast(x, Shape::Array(x->shape().element_type(), sizes));
  cut->set_metadata(x->metadata());
  return cut;
}

Instruction* InTwo(Instruction* reduce, const ReductionShape& shape, Rewriter& rewriter) {
  DimVec dims = SortedDims(*reduce);
  const int64_t dim = dims.back();
  const Split split = SplitOf(reduce->operand(0)->shape().dim(static_cast<int>(dim)), shape);
  const int count = reduce->operand_count() / 2;
  std::vector<Instruction*> inputs;
  for (int i = 0; i < count; ++i)
    inputs.push_back(Cut(reduce->operand(i), reduce->operand(count + i), dim, split, rewriter));
  dims.back() = dim + 1;
  DimVec sizes;
  const Shape cut = inputs[0]->shape();
  for (int64_t d = 0; d < cut.rank(); ++d) {
    if (!Contains(dims, d)) sizes.push_back(cut.dim(static_cast<int>(d)));
  }
  const int64_t left = dim - static_cast<int64_t>(dims.size() - 1);
  Instruction* runs = ReducedTo(*reduce, inputs, ResultsWith(*reduce, sizes), dims, rewriter);
  return Outer(reduce, runs, left, rewriter);
}

}  // namespace

bool GpuTreeReductionRewriter::Matches(const Instruction& instruction) const {
  if (!HasPlainInputs(instruction) || !IsFromOrToContiguousDims(instruction) ||
      SortedDims(instruction).size() > 2 || SortedDims(instruction).empty())
    return false;
  const std::optional<ReductionShape> shape = ReductionShapeOf(instruction);
  if (!shape || IsRaceFree(*shape) || !MayStartAgain(instruction)) return false;
  return HasLargeBatch(*shape) ? SortedDims(instruction).size() == 2 : true;
}

absl::StatusOr<Instruction*> GpuTreeReductionRewriter::Expand(Instruction* reduce,
                                                              Rewriter& rewriter) {
  const ReductionShape shape = *ReductionShapeOf(*reduce);
  return HasLargeBatch(shape) ? BatchLast(reduce, rewriter) : InTwo(reduce, shape, rewriter);
}

HLO_DEFINE_PASS(GpuTreeReductionRewriter)

}  // namespace hlo
