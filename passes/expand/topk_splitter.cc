#include "passes/expand/topk_splitter.h"

#include <algorithm>
#include <bit>

#include "passes/util/topk_order.h"

namespace hlo {
namespace {

// Any power of two up to this divides the rows that are split.
constexpr int64_t kMaxParts = 1024;

// How many parts the row of `topk` is looked through in; 1: it is not split.
int64_t PartCount(const Instruction& topk, int64_t threshold) {
  const Shape row = topk.operand(0)->shape();
  const int64_t n = row.dims().back(), k = topk.shape().element(0).dims().back();
  if (n != row.element_count() || n % kMaxParts != 0 || k < 1 || k * k > n) return 1;
  const auto parts = static_cast<uint64_t>(n / std::max<int64_t>(threshold, 1));
  const int64_t count = std::min(static_cast<int64_t>(std::bit_floor(parts)), kMaxParts);
  return count < 1 || k > n / count ? 1 : count;
}

// The topk of each part.
Instruction* TopkOfParts(Instruction* topk, int64_t count, Rewriter& b) {
  const int64_t size = topk->operand(0)->shape().element_count() / count;
  Shape shape = topk->shape();
  for (int i = 0; i < 2; ++i) {
    const Shape result = shape.element(i);
    shape = shape.WithElement(i, result.WithDimensions({count, result.dims().back()}));
  }
  Instruction* const rows = b.Reshape(topk->operand(0), {count, size});
  if (!b.status().ok()) return topk;
  Instruction* const parts = topk->parent()->AddClone(*topk, shape, {rows});
  if (parts->extras() != nullptr) {
    parts->clear_sharding();
    parts->mutable_extras().origin.reset();
  }
  return parts;
}

// The first k of the elements, as the result that `shape` says.
Instruction* HeadOf(Instruction* elements, Shape shape, Rewriter& b) {
  Instruction* const first = b.Slice(elements, {0}, {shape.dims().back()});
  return shape.rank() == 1 ? first : b.Reshape(first, shape.dims());
}

}  // namespace

bool TopkSplitter::Matches(const Instruction& instruction) const {
  if (!IsTopk(instruction)) return false;
  const int rank = instruction.operand(0)->shape().rank();
  return (rank == 1 || rank == 2) && PartCount(instruction, options_.split_threshold) > 1;
}

absl::StatusOr<Instruction*> TopkSplitter::Expand(Instruction* topk, Rewriter& b) {
  const int64_t count = PartCount(*topk, options_.split_threshold);
  const int64_t size = topk->operand(0)->shape().element_count() / count;
  Instruction* const parts = TopkOfParts(topk, count, b);
  Instruction* const values = b.GetTupleElement(parts, 0);
  Instruction* const places = b.GetTupleElement(parts, 1);
  const Shape numbers = Shape::Array(places->shape().element_type(), {count});
  Instruction* const iota = b.Iota(numbers, 0);
  Instruction* const starts = b.Multiply(iota, b.ConstantLike(iota, static_cast<double>(size)));
  Instruction* const indices = b.Add(places, b.Broadcast(starts, places->shape().dims(), {0}));
  const int64_t total = values->shape().element_count();
  Instruction* const sorted =
      b.Op(Opcode::kSort, {b.Reshape(values, {total}), b.Reshape(indices, {total})},
           AttrsPtr::Make(SortAttrs{BracedDim{0}, /*is_stable=*/true}), {TopkOrder(*topk)});
  return b.Tuple({HeadOf(b.GetTupleElement(sorted, 0), topk->shape().element(0), b),
                  HeadOf(b.GetTupleElement(sorted, 1), topk->shape().element(1), b)});
}

HLO_DEFINE_PASS(TopkSplitter)

}  // namespace hlo
