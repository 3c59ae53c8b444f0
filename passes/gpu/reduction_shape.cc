#include "passes/gpu/reduction_shape.h"

#include <algorithm>

#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

constexpr int64_t kWarp = 32;
// A warp reduces a column of so many elements for each of its threads.
constexpr int64_t kColumnTile = 128;
// Threads of the largest block, and elements that each of them takes.
constexpr int64_t kRowThreads = 1024;
constexpr int64_t kRowTile = 16;

// Sizes by place in memory: what lies before (major), in and after (minor) the dimensions of
// `middle`. None if those do not lie together.
std::optional<std::array<int64_t, 3>> Partition(Shape shape, const DimVec& middle) {
  std::array<int64_t, 3> sizes = {1, 1, 1};
  size_t part = 2;
  for (const int64_t dim : shape.layout().minor_to_major) {
    const bool inside = Contains(middle, dim);
    if (inside && part == 0) return std::nullopt;
    if (inside) part = 1;
    if (!inside && part == 1) part = 0;
    sizes[part] *= shape.dim(static_cast<int>(dim));
  }
  return sizes;
}

DimVec KeptDims(const Instruction& reduce) {
  DimVec kept;
  for (int64_t d = 0; d < reduce.operand(0)->shape().rank(); ++d) {
    if (!Contains(reduce.attrs<ReduceAttrs>().dimensions, d)) kept.push_back(d);
  }
  return kept;
}

}  // namespace

std::optional<ReductionShape> ReductionShapeOf(const Instruction& reduce) {
  const Shape input = reduce.operand(0)->shape().WithMissingLayoutsFilled();
  const DimVec kept = KeptDims(reduce);
  if (kept.empty()) return ReductionShape{true, {1, 1, input.element_count()}};
  if (const auto sizes = Partition(input, kept)) {
    if ((*sizes)[1] == 1) return ReductionShape{true, {1, 1, (*sizes)[0] * (*sizes)[2]}};
    if ((*sizes)[2] == 1) return ReductionShape{false, {1, (*sizes)[0], (*sizes)[1]}};
    return ReductionShape{true, *sizes};
  }
  const auto sizes = Partition(input, reduce.attrs<ReduceAttrs>().dimensions);
  if (!sizes) return std::nullopt;
  if ((*sizes)[2] == 1) return ReductionShape{true, {1, (*sizes)[0], (*sizes)[1]}};
  return ReductionShape{false, *sizes};
}

bool IsFromOrToContiguousDims(const Instruction& reduce) {
  const std::optional<ReductionShape> shape = ReductionShapeOf(reduce);
  if (!shape) return false;
  const int64_t minor = shape->sizes[2];
  if (shape->is_row) return minor >= kWarp || (minor > 0 && kWarp % minor == 0);
  // Measured: below these sizes a column is reduced faster by one thread.
  const int64_t column = shape->sizes[1];
  return !(column < kWarp || (column < 2 * kWarp && minor < kWarp) ||
           (column < 4 * kWarp && minor < 8) || (column < 8 * kWarp && minor < 3));
}

int64_t RaceFreeBound(const ReductionShape& shape) {
  return shape.is_row ? kRowThreads * kRowTile : kWarp * kColumnTile;
}

bool IsRaceFree(const ReductionShape& shape) {
  if (!shape.is_row) return shape.sizes[1] <= RaceFreeBound(shape);
  return shape.sizes[2] <= RaceFreeBound(shape) && shape.sizes[0] <= kRaceFreeBatch;
}

bool HasPlainInputs(const Instruction& reduce) {
  for (int i = 0; i < reduce.operand_count() / 2; ++i) {
    const Shape shape = reduce.operand(i)->shape();
    if (shape.has_dynamic_dims() || shape.IsZeroSized() || !LiesRowMajor(shape)) return false;
  }
  return true;
}

Shape ResultOf(const Instruction& reduce, int i) {
  return reduce.shape().IsTuple() ? reduce.shape().element(i) : reduce.shape();
}

bool ReducesNeighbours(const Instruction& reduce) {
  const DimVec& dims = reduce.attrs<ReduceAttrs>().dimensions;
  return absl::c_any_of(dims, [&](int64_t d) { return Contains(dims, d + 1); });
}

std::vector<Instruction*> ResultsOf(Instruction* reduce, Rewriter& rewriter) {
  if (!reduce->shape().IsTuple()) return {reduce};
  std::vector<Instruction*> results;
  for (int i = 0; i < reduce->shape().element_count_of_tuple(); ++i)
    results.push_back(rewriter.GetTupleElement(reduce, i));
  return results;
}

Instruction* ReducedTo(const Instruction& reduce, std::span<Instruction* const> inputs,
                       std::span<const Shape> results, DimVec dimensions, Rewriter& rewriter) {
  std::vector<Instruction*> operands(inputs.begin(), inputs.end());
  const std::vector<Instruction*> old = reduce.operand_vector();
  operands.insert(operands.end(), old.begin() + reduce.operand_count() / 2, old.end());
  const Shape shape =
      reduce.shape().IsTuple() ? Shape::Tuple({results.data(), results.size()}) : results[0];
  return rewriter.OpWithShape(Opcode::kReduce, shape, operands,
                              AttrsPtr::Make(ReduceAttrs{std::move(dimensions)}),
                              {reduce.to_apply()});
}

Instruction* ReducedAs(const Instruction& reduce, std::span<Instruction* const> inputs,
                       std::span<const Shape> results, DimVec dimensions, Rewriter& rewriter) {
  Instruction* reduced = ReducedTo(reduce, inputs, results, std::move(dimensions), rewriter);
  PassOnFrontendAttributes(reduce, reduced);
  if (reduced->shape().WithMissingLayoutsFilled() == reduce.shape().WithMissingLayoutsFilled())
    return reduced;
  std::vector<Instruction*> back;
  for (Instruction* result : ResultsOf(reduced, rewriter))
    back.push_back(rewriter.Bitcast(result, ResultOf(reduce, static_cast<int>(back.size()))));
  return reduce.shape().IsTuple() ? rewriter.Tuple(back) : back[0];
}

}  // namespace hlo
