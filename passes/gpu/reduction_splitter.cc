#include "passes/gpu/reduction_splitter.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

constexpr int64_t kSmall = 8;

// The first of the largest reduced dimensions.
int64_t LargestReducedDim(const Instruction& reduce) {
  const Shape shape = reduce.operand(0)->shape();
  const DimVec& dims = reduce.attrs<ReduceAttrs>().dimensions;
  return *absl::c_max_element(dims, [&](int64_t a, int64_t b) {
    return shape.dim(static_cast<int>(a)) < shape.dim(static_cast<int>(b));
  });
}

}  // namespace

bool ReductionSplitter::Matches(const Instruction& instruction) const {
  const DimVec& dims = instruction.attrs<ReduceAttrs>().dimensions;
  if (!instruction.shape().IsArray() || dims.size() < 2 || !HasPlainInputs(instruction) ||
      ReducesNeighbours(instruction) || IsFromOrToContiguousDims(instruction))
    return false;
  const int64_t size =
      instruction.operand(0)->shape().dim(static_cast<int>(LargestReducedDim(instruction)));
  return (!options_.ignore_small_dims || size > kSmall) && MayStartAgain(instruction);
}

absl::StatusOr<Instruction*> ReductionSplitter::Expand(Instruction* reduce, Rewriter& rewriter) {
  const int64_t first = LargestReducedDim(*reduce);
  const Shape input = reduce->operand(0)->shape();
  DimVec sizes(input.dims().begin(), input.dims().end());
  sizes.erase(sizes.begin() + first);
  DimVec rest;
  for (const int64_t d : reduce->attrs<ReduceAttrs>().dimensions) {
    if (d != first) rest.push_back(d > first ? d - 1 : d);
  }
  const Shape result = reduce->shape(), kept = Shape::Array(result.element_type(), sizes);
  Instruction* part = ReducedTo(*reduce, {{reduce->operand(0)}}, {{kept}}, {first}, rewriter);
  return ReducedAs(*reduce, {{part}}, {{result}}, std::move(rest), rewriter);
}

HLO_DEFINE_PASS(ReductionSplitter)

}  // namespace hlo
