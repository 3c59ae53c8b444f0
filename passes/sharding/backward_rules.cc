// What users would like their operands to have, one function per opcode of the user.
#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "lib/ops/attrs.h"
#include "lib/support/round.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/dimension_maps.h"
#include "passes/sharding/propagation_rules.h"
#include "passes/sharding/reshape_rule.h"
#include "passes/util/sharding_fit.h"

namespace hlo {
namespace {

using Context = PropagationContext;
using Wish = std::optional<Sharding>;

const TiledSharding& LeafOf(const Instruction& user) { return *LeafSharding(user); }

Wish SameAsUser(const Instruction&, const Instruction& user, const Context&) {
  return *user.sharding();
}

Wish SameAsUserOfShape(const Instruction& instruction, const Instruction& user, const Context&) {
  if (!SameTree(instruction.shape(), user.shape())) return std::nullopt;
  return *user.sharding();
}

Wish FirstSameAsUser(const Instruction& instruction, const Instruction& user, const Context&) {
  if (user.operand(0) != &instruction) return std::nullopt;
  return *user.sharding();
}

// Of the element of its own number, of users whose results are tuples.
Wish ElementOfUser(const Instruction& instruction, const Instruction& user, const Context&) {
  if (!user.shape().IsTuple()) return *user.sharding();
  const int number = OperandNumber(user, instruction);
  if (number >= user.shape().element_count_of_tuple()) return std::nullopt;
  return ElementSharding(*user.sharding(), user.shape(), number);
}

Wish BackwardBroadcast(const Instruction& instruction, const Instruction& user,
                       const Context& context) {
  const TiledSharding& sharding = LeafOf(user);
  const int64_t rank = instruction.shape().rank();
  const DimMap back = InverseMap(OperandToResult(user, 0), user.shape().rank());
  for (size_t d = 0; d < back.size(); ++d) {
    if (!context.is_spmd && back[d] < 0 && TilesAlong(sharding, static_cast<int64_t>(d)) > 1)
      return std::nullopt;
  }
  return Sharding::Of(MapDims(sharding, back, rank));
}

// The devices that have a part of this operand, where the result is split along `along`.
Wish DevicesOfPart(const Instruction& instruction, const Instruction& user, int64_t along) {
  const TiledSharding& sharding = LeafOf(user);
  const auto dim = static_cast<int>(along);
  int64_t start = 0;
  for (const Instruction* operand : user.operands()) {
    if (operand == &instruction) break;
    start += operand->shape().dim(dim);
  }
  const int64_t tiles = sharding.tile_dims[along];
  const int64_t tile = CeilDiv(user.shape().dim(dim), tiles);
  const int64_t first = start / tile;
  const int64_t end = CeilDiv(start + instruction.shape().dim(dim), tile);
  const std::vector<int64_t> devices = sharding.Devices();
  TiledSharding part = sharding;
  part.iota.reset();
  part.devices.clear();
  DimVec index(sharding.tile_dims.size(), 0);
  do {
    if (index[along] >= first && index[along] < end)
      part.devices.push_back(devices[LinearIndex(index, sharding.tile_dims)]);
  } while (NextIndex(absl::MakeSpan(index), sharding.tile_dims));
  if (part.devices.size() == 1) return Sharding::Maximal(part.devices[0]);
  part.tile_dims[along] = end - first;
  return Sharding::Of(std::move(part));
}

Wish BackwardConcatenate(const Instruction& instruction, const Instruction& user,
                         const Context& context) {
  if (context.level == 0) return std::nullopt;
  const int64_t along = user.attrs<ConcatenateAttrs>().dimensions.value;
  if (!context.is_spmd && TilesAlong(LeafOf(user), along) > 1)
    return DevicesOfPart(instruction, user, along);
  return *user.sharding();
}

// Along dimensions that are cut every device has to have all of the operand.
Wish BackwardSlice(const Instruction& instruction, const Instruction& user,
                   const Context& context) {
  if (context.level == 0) return std::nullopt;
  if (AllReplicated(*user.sharding())) return *user.sharding();
  const bool is_update = user.opcode() == Opcode::kDynamicUpdateSlice;
  if (is_update && user.operand(0) == &instruction) return *user.sharding();
  if (user.operand(is_update ? 1 : 0) != &instruction) return std::nullopt;
  DimVec cut;
  for (int d = 0; d < user.shape().rank(); ++d) {
    if (user.shape().dim(d) != instruction.shape().dim(d)) cut.push_back(d);
  }
  return Sharding::Of(ReplicateDims(LeafOf(user), cut));
}

Wish BackwardWindow(const Instruction& instruction, const Instruction& user,
                    const Context& context) {
  if (OperandNumber(user, instruction) >= user.operand_count() / 2) return std::nullopt;
  return ElementOfUser(instruction, user, context);
}

Wish BackwardReshape(const Instruction& instruction, const Instruction& user, const Context&) {
  return Sharding::Of(
      ThroughReshape(user.shape().dims(), instruction.shape().dims(), LeafOf(user)));
}

Wish BackwardTranspose(const Instruction& instruction, const Instruction& user, const Context&) {
  const int64_t rank = instruction.shape().rank();
  return Sharding::Of(MapDims(LeafOf(user), InverseMap(OperandToResult(user, 0), rank), rank));
}

// Of all the places where it stands, the one that says most.
Wish BackwardTuple(const Instruction& instruction, const Instruction& user, const Context&) {
  Wish best;
  for (const Use& use : instruction.uses()) {
    if (use.user != &user) continue;
    Sharding sharding = ElementSharding(*user.sharding(), user.shape(), use.operand_index);
    if (!best.has_value() || IsMoreSpecific(sharding, *best)) best = std::move(sharding);
  }
  return best;
}

// Its place in the tuple; what is not known of the others is that they are not split.
Wish BackwardTupleElement(const Instruction& instruction, const Instruction& user, const Context&) {
  Sharding result;
  if (instruction.sharding() != nullptr) {
    result = *instruction.sharding();
  } else {
    result = Sharding::Tuple({});
    ForEachLeaf(instruction.shape(), [&](Shape leaf, const ShapeIndex&) {
      result.leaves.push_back(
          ReplicateAllDims(LeafAt(*user.sharding(), 0), leaf.IsArray() ? leaf.rank() : 0));
    });
  }
  const int64_t first = FirstLeafOf(instruction.shape(), user.tuple_index());
  const int64_t count = LeafCount(user.shape());
  if (count == 0) return std::nullopt;
  std::copy_n(user.sharding()->leaves.begin(), count, result.leaves.begin() + first);
  return result;
}

// Reduced dimensions are not split, unless another input is.
Wish BackwardReduce(const Instruction& instruction, const Instruction& user,
                    const Context& context) {
  if (instruction.shape().rank() == 0) return std::nullopt;
  const Wish wish = ElementOfUser(instruction, user, context);
  if (!wish.has_value()) return std::nullopt;
  const int64_t rank = instruction.shape().rank();
  const DimMap back =
      InverseMap(OperandToResult(user, 0),
                 rank - static_cast<int64_t>(user.attrs<ReduceAttrs>().dimensions.size()));
  TiledSharding sharding = MapDims(LeafAt(*wish, 0), back, rank);
  for (int i = 0; i < user.operand_count() / 2; ++i) {
    const TiledSharding* other = LeafSharding(*user.operand(i));
    if (user.operand(i) != &instruction && other != nullptr && !IsManual(*other) &&
        !IsManual(sharding))
      MergeIfCompatible(*other, sharding);
  }
  return Sharding::Of(std::move(sharding));
}

Wish BackwardReverse(const Instruction&, const Instruction& user, const Context&) {
  return Sharding::Of(ReverseDims(LeafOf(user), user.attrs<ReverseAttrs>().dimensions));
}

// The sharding of an outfeed is that of what it sends, and of the token.
Wish BackwardOutfeed(const Instruction& instruction, const Instruction& user, const Context&) {
  if (user.operand(0) != &instruction) return std::nullopt;
  const Sharding& sharding = *user.sharding();
  const Shape shape = instruction.shape();
  if (!sharding.is_tuple) {
    if (!FitsAll(sharding.leaves[0], shape)) return std::nullopt;
    return Uniform(shape, LeafAt(sharding, 0));
  }
  const auto count = ShardingLeaves(shape);
  if (static_cast<int64_t>(sharding.leaves.size()) < count) return std::nullopt;
  std::vector<Sharding::Leaf> leaves(sharding.leaves.begin(), sharding.leaves.begin() + count);
  if (!FitLeaves(leaves, shape)) return std::nullopt;
  return shape.IsTuple() ? Sharding::Tuple(std::move(leaves)) : Sharding::Of(leaves[0]);
}

// A scan reads along its dimension what it writes along it.
Wish BackwardScan(const Instruction& instruction, const Instruction& user, const Context&) {
  if (!user.shape().IsTuple()) return std::nullopt;
  const int results = user.shape().element_count_of_tuple();
  const auto carries = static_cast<int>(user.attrs<ScanAttrs>().num_carries);
  const int inputs = user.operand_count() - carries;
  const int number = OperandNumber(user, instruction);
  const int element = number < inputs ? number : results - carries + number - inputs;
  if (number < inputs && element >= results - carries) return std::nullopt;
  if (!SameTree(instruction.shape(), user.shape().element(element))) return std::nullopt;
  return ElementSharding(*user.sharding(), user.shape(), element);
}

using BackwardRule = Wish (*)(const Instruction& instruction, const Instruction& user,
                              const Context& context);

constexpr struct {
  Opcode user;
  BackwardRule rule;
} kBackwardRules[] = {
    {Opcode::kBroadcast, BackwardBroadcast},
    {Opcode::kConcatenate, BackwardConcatenate},
    {Opcode::kConvolution, OperandOfConvolution},
    {Opcode::kDot, OperandOfDot},
    {Opcode::kDynamicSlice, BackwardSlice},
    {Opcode::kDynamicUpdateSlice, BackwardSlice},
    {Opcode::kGather, OperandOfGather},
    {Opcode::kGetTupleElement, BackwardTupleElement},
    {Opcode::kOutfeed, BackwardOutfeed},
    {Opcode::kPad, FirstSameAsUser},
    {Opcode::kReduce, BackwardReduce},
    {Opcode::kReduceWindow, BackwardWindow},
    {Opcode::kReshape, BackwardReshape},
    {Opcode::kReverse, BackwardReverse},
    {Opcode::kScan, BackwardScan},
    {Opcode::kScatter, OperandOfScatter},
    {Opcode::kSlice, SameAsUser},
    {Opcode::kSort, ElementOfUser},
    {Opcode::kTranspose, BackwardTranspose},
    {Opcode::kTuple, BackwardTuple},
};

constexpr auto kBackwardRuleOf = [] {
  std::array<BackwardRule, kOpcodeCount> rules = {};
  rules.fill(SameAsUserOfShape);
  for (const auto& row : kBackwardRules) rules[static_cast<size_t>(row.user)] = row.rule;
  return rules;
}();

}  // namespace

std::optional<Sharding> ShardingFromUser(const Instruction& instruction, const Instruction& user,
                                         const PropagationContext& context) {
  if (!IsSpread(user) || !PassesAt(user, context.level)) return std::nullopt;
  return kBackwardRuleOf[static_cast<size_t>(user.opcode())](instruction, user, context);
}

}  // namespace hlo
