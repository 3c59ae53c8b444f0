#include "passes/fusion/row_groups.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "lib/support/contains.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/row_fusion.h"

namespace hlo {
namespace {

constexpr int64_t kMaxRow = 1 << 16;      // elements of a row that stays in cache
constexpr int64_t kSmallInput = 1 << 15;  // bytes: rows need not be many

// Whether the leading dimensions of the root are those of the result of `reduce`, but for those of
// one element, which say nothing about where a row is.
bool HasRowsOf(const Instruction& reduce, const Instruction& root) {
  if (!root.shape().IsArray()) return false;
  const auto dims = root.shape().dims();
  auto at = dims.begin();
  for (const int64_t size : reduce.shape().dims()) {
    if (size == 1) continue;
    at = std::find_if(at, dims.end(), [](int64_t dim) { return dim != 1; });
    if (at == dims.end() || *at++ != size) return false;
  }
  return true;
}

// Whether `from` is, or depends on, near by, a reduction for which `is_wanted` holds.
template <class Predicate>
bool DependsOnReduction(const Instruction& from, const Predicate& is_wanted) {
  constexpr size_t kMostSteps = 64;
  std::vector<const Instruction*> seen = {&from};
  for (size_t i = 0; i < seen.size() && i < kMostSteps; ++i) {
    if (seen[i]->opcode() == Opcode::kReduce) {
      if (is_wanted(*seen[i])) return true;
      continue;
    }
    if (!IsFusible(*seen[i])) continue;
    for (const Instruction* operand : seen[i]->operands()) {
      if (!Contains(seen, operand)) seen.push_back(operand);
    }
  }
  return false;
}

}  // namespace

bool ReduceMayJoinLoops(const Instruction& reduce, const Instruction& root) {
  if (!reduce.shape().IsArray() || !ReducesRows(reduce) || RowSize(reduce) > kMaxRow) return false;
  const Shape input = reduce.operand(0)->shape();
  if (root.opcode() == Opcode::kReduce || !HasRowsOf(reduce, root) ||
      root.shape().element_count() != input.element_count())
    return false;
  const bool is_small = input.byte_size() <= kSmallInput;
  if (reduce.shape().rank() == 0) return is_small;
  return reduce.shape().element_count() >= 4 || is_small;
}

bool ReduceMayJoinRows(const Instruction& reduce, const Instruction& root, int64_t row_size) {
  // Few rows are for few multiprocessors.
  constexpr int64_t kManyRows = 64;
  const auto is_simple = [](const Instruction& i) {
    return i.shape().IsArray() && ReducesRows(i) && CombinerOpcode(*i.to_apply());
  };
  if (!is_simple(reduce)) return false;
  const int64_t rows = reduce.shape().element_count(), size = RowSize(reduce);
  if (size < 2 || size > (rows < kManyRows ? kMaxRow / 2 : kMaxRow)) return false;
  if (!HasRowsOf(reduce, root)) return false;
  if (root.opcode() == Opcode::kReduce)
    return is_simple(root) && RowSize(root) == size && root.shape().element_count() == rows;
  if (row_size != 0 && row_size != size) return false;
  const int64_t count = root.shape().element_count();
  if (count == rows * size) return true;
  return count == rows &&
         (row_size != 0 || DependsOnReduction(*reduce.operand(0), [size](const Instruction& i) {
            return ReducesRows(i) && RowSize(i) == size;
          }));
}

bool MayBeOutputOfRows(const Instruction& value, const Instruction& root, int64_t row_size) {
  const int64_t count = value.shape().element_count();
  if (!root.shape().IsArray() || count < 2) return false;
  const int64_t all = root.shape().element_count();
  if (row_size != 0) return count == all || count == all * row_size || count * row_size == all;
  return DependsOnReduction(value, [&](const Instruction& reduce) {
    return reduce.shape().IsArray() && reduce.shape().element_count() == count &&
           ReduceMayJoinRows(reduce, root, row_size);
  });
}

bool MovesElements(const std::vector<Instruction*>& instructions) {
  constexpr OpcodeSet kMoves = {Opcode::kTranspose, Opcode::kReverse, Opcode::kConcatenate,
                                Opcode::kPad, Opcode::kGather};
  return absl::c_any_of(instructions,
                        [&](const Instruction* i) { return kMoves.Has(i->opcode()); });
}

}  // namespace hlo
