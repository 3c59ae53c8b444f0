#include "passes/layout/layout_rules.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ir/layout_change.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

std::vector<int64_t> LargerThanOne(Shape shape) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(static_cast<int>(d)) != 1) dims.push_back(d);
  }
  return dims;
}

// Sizes of `dims`.
std::vector<int64_t> SizesOf(Shape shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> sizes;
  for (const int64_t d : dims) sizes.push_back(shape.dim(static_cast<int>(d)));
  return sizes;
}

// Renumbers what is left of `order` when the dimensions for which `drops` holds are gone.
template <class Drops>
DimOrder Without(const DimOrder& order, Drops&& drops) {
  DimOrder left;
  for (const int64_t d : order) {
    if (drops(d)) continue;
    int64_t number = d;
    for (int64_t before = 0; before < d; ++before) number -= drops(before) ? 1 : 0;
    left.push_back(number);
  }
  return left;
}

bool OnlyMovesOnes(const Instruction& reshape) {
  const Shape from = reshape.operand(0)->shape(), to = reshape.shape();
  return SizesOf(from, LargerThanOne(from)) == SizesOf(to, LargerThanOne(to));
}

}  // namespace

int EffectiveRank(Shape shape) { return static_cast<int>(LargerThanOne(shape).size()); }

std::optional<DimOrder> OrderAfterReshape(Shape from, const DimOrder& order, Shape to) {
  if (from.IsZeroSized() || from.has_dynamic_dims() || to.has_dynamic_dims()) return std::nullopt;
  const std::vector<int64_t> from_dims = LargerThanOne(from), to_dims = LargerThanOne(to);
  const auto factors = CommonFactors(SizesOf(from, from_dims), SizesOf(to, to_dims));
  // Where each dimension of `from` stands among those larger than 1.
  std::vector<int64_t> place(static_cast<size_t>(from.rank()), -1);
  for (size_t i = 0; i < from_dims.size(); ++i)
    place[static_cast<size_t>(from_dims[i])] = static_cast<int64_t>(i);
  DimOrder result;
  // Groups that are reshaped into each other, the minor one first: each lies in one piece, in
  // row-major order.
  std::vector<int64_t> places;
  for (const int64_t d : order) {
    if (place[static_cast<size_t>(d)] >= 0) places.push_back(place[static_cast<size_t>(d)]);
  }
  for (size_t at = 0; at < places.size();) {
    const auto group =
        absl::c_find_if(factors, [&](const auto& f) { return f.first > places[at]; });
    const int64_t first = (group - 1)->first;
    if (group->first != places[at] + 1) return std::nullopt;
    for (int64_t expected = places[at]; expected >= first; --expected, ++at) {
      if (at == places.size() || places[at] != expected) return std::nullopt;
    }
    for (int64_t d = group->second; d-- > (group - 1)->second;)
      result.push_back(to_dims[static_cast<size_t>(d)]);
  }
  for (int64_t d = to.rank(); d-- > 0;) {
    if (to.dim(static_cast<int>(d)) == 1) result.push_back(d);
  }
  return result;
}

std::optional<DimOrder> ResultOrder(const Instruction& instruction, int operand,
                                    const DimOrder& order, Shape leaf) {
  const Shape from = instruction.operand(operand)->shape();
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kReduce) {
    if (!instruction.shape().IsTuple() || operand >= instruction.operand_count() / 2)
      return std::nullopt;
    const DimVec& reduced = instruction.attrs<ReduceAttrs>().dimensions;
    return Without(order, [&](int64_t d) { return absl::c_linear_search(reduced, d); });
  }
  if (opcode == Opcode::kReshape) {
    if (EffectiveRank(from) <= 1 && EffectiveRank(leaf) <= 1) return std::nullopt;
    return OrderAfterReshape(from, order, leaf);
  }
  if (opcode == Opcode::kTranspose) {
    return Permute(InversePermutation(instruction.attrs<TransposeAttrs>().dimensions), order);
  }
  if (!MayChangeLayout(instruction) && from.rank() == leaf.rank()) return order;
  return std::nullopt;
}

std::optional<DimOrder> OperandOrder(const Instruction& instruction, int operand,
                                     const DimOrder& order) {
  const Shape from = instruction.operand(operand)->shape(), to = instruction.shape();
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kReshape) {
    if (EffectiveRank(from) <= 1 && EffectiveRank(to) <= 1) return std::nullopt;
    return OrderAfterReshape(to, order, from);
  }
  if (opcode == Opcode::kTranspose)
    return Permute(instruction.attrs<TransposeAttrs>().dimensions, order);
  if (opcode == Opcode::kBroadcast) {
    const DimVec& dims = instruction.attrs<BroadcastAttrs>().dimensions;
    DimOrder kept;
    for (const int64_t d : order) {
      const auto at = absl::c_find(dims, d);
      if (at != dims.end()) kept.push_back(at - dims.begin());
    }
    // One that reads a dimension of the result twice says nothing.
    if (static_cast<int>(kept.size()) != from.rank()) return std::nullopt;
    return kept;
  }
  if (!MayChangeLayout(instruction) && from.rank() == to.rank()) return order;
  return std::nullopt;
}

DimOrder RowReductionOrder(const Instruction& reduce, const DimOrder& result) {
  const DimVec& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  DimVec kept;
  for (int64_t d = 0; d < reduce.operand(0)->shape().rank(); ++d) {
    if (!absl::c_linear_search(reduced, d)) kept.push_back(d);
  }
  DimOrder order(reduced.rbegin(), reduced.rend());
  for (const int64_t d : result) order.push_back(kept[static_cast<size_t>(d)]);
  return order;
}

bool FollowsOperands(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReduce || instruction.opcode() == Opcode::kTranspose ||
         !MayChangeLayout(instruction);
}

bool IsFollowedFirst(const Instruction& instruction) {
  constexpr OpcodeSet kFirst = {Opcode::kGather, Opcode::kScatter, Opcode::kTranspose};
  if (instruction.opcode() == Opcode::kReshape)
    return instruction.operand(0)->shape().rank() == 1 || OnlyMovesOnes(instruction);
  return kFirst.Has(instruction.opcode());
}

}  // namespace hlo
