// Shardings of results by those of operands, one function per opcode that is not elementwise.
#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/dimension_maps.h"
#include "passes/sharding/propagation_rules.h"
#include "passes/sharding/reshape_rule.h"
#include "passes/sharding/sharding_annotations.h"
#include "passes/util/batched_call.h"

namespace hlo {
namespace {

using Context = PropagationContext;

// These follow their first operand only; the others have another shape or say how much.
constexpr OpcodeSet kFollowFirst = {Opcode::kMap,
                                    Opcode::kPad,
                                    Opcode::kPower,
                                    Opcode::kOptimizationBarrier,
                                    Opcode::kRaggedAllToAll,
                                    Opcode::kReverse,
                                    Opcode::kSlice,
                                    Opcode::kShiftLeft,
                                    Opcode::kShiftRightArithmetic,
                                    Opcode::kShiftRightLogical};
// These follow any operand, as elementwise operations do.
constexpr OpcodeSet kFollowAny = {Opcode::kAllGather,
                                  Opcode::kAllReduce,
                                  Opcode::kReduceScatter,
                                  Opcode::kAllToAll,
                                  Opcode::kCollectiveBroadcast,
                                  Opcode::kCollectivePermute,
                                  Opcode::kBitcastConvert,
                                  Opcode::kConcatenate,
                                  Opcode::kTopK,
                                  Opcode::kSort,
                                  Opcode::kWhile};

bool ForwardTupleElement(Instruction& element, const Context& context) {
  const Instruction& tuple = *element.operand(0);
  if (!IsSpread(tuple)) return false;
  Sharding sharding = ElementSharding(*tuple.sharding(), tuple.shape(), element.tuple_index());
  if (AllManual(sharding)) {
    element.set_sharding(std::move(sharding));
    return true;
  }
  return Improve(element, sharding, context.For(element));
}

// Each element takes the better of what it has and its operand's; manual ones only at first.
bool ForwardTuple(Instruction& tuple, const Context&) {
  if (absl::c_none_of(tuple.operands(), [](const Instruction* o) { return IsSpread(*o); }))
    return false;
  const Sharding* before = tuple.sharding();
  Sharding sharding = before == nullptr ? Uniform(tuple.shape(), TiledSharding()) : *before;
  size_t leaf = 0;
  for (const Instruction* operand : tuple.operands()) {
    const auto count = static_cast<size_t>(LeafCount(operand->shape()));
    for (size_t i = 0; operand->sharding() != nullptr && i < count; ++i) {
      const TiledSharding& proposed = LeafAt(*operand->sharding(), i);
      if (before == nullptr || IsMoreSpecific(proposed, LeafAt(sharding, leaf + i)))
        sharding.leaves[leaf + i] = proposed;
    }
    leaf += count;
  }
  if (before != nullptr && SameSharding(sharding, *before)) return false;
  tuple.set_sharding(std::move(sharding));
  return true;
}

bool ForwardReduce(Instruction& reduce, const Context& context) {
  const DimVec& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  bool changed = false;
  for (int i = 0; i < reduce.operand_count() / 2; ++i) {
    const Instruction& input = *reduce.operand(i);
    if (!IsSpread(input)) continue;
    const TiledSharding& sharding = *LeafSharding(input);
    if (IsManual(sharding)) {
      changed |= ImproveElement(reduce, i, sharding, context.For(reduce));
      continue;
    }
    const auto is_split = [&](int64_t d) { return TilesAlong(sharding, d) > 1; };
    const auto rank = input.shape().rank() - static_cast<int64_t>(reduced.size());
    // Partial results of several devices are combined by SPMD partitioning only.
    const bool is_lost = !context.is_spmd && absl::c_any_of(reduced, is_split);
    changed |= Improve(reduce,
                       is_lost ? ReplicateAllDims(sharding, rank)
                               : MapDims(sharding, OperandToResult(reduce, 0), rank),
                       context.For(reduce));
  }
  return changed;
}

bool ForwardBroadcast(Instruction& broadcast, const Context& context) {
  const TiledSharding* sharding = LeafSharding(*broadcast.operand(0));
  if (context.level < kBoldestLevel || sharding == nullptr || IsWhole(*sharding)) return false;
  return Improve(broadcast,
                 MapDims(*sharding, OperandToResult(broadcast, 0), broadcast.shape().rank()),
                 context.For(broadcast));
}

bool ForwardTranspose(Instruction& transpose, const Context& context) {
  if (!IsSpread(*transpose.operand(0))) return false;
  return Improve(transpose,
                 MapDims(*LeafSharding(*transpose.operand(0)), OperandToResult(transpose, 0),
                         transpose.shape().rank()),
                 context.For(transpose));
}

// The parameters of layers, put together: sharded as they are, not along the layers.
bool IsShardedLayer(const Instruction& operand, int64_t along) {
  constexpr OpcodeSet kGiven = {Opcode::kParameter, Opcode::kGetTupleElement};
  const TiledSharding* sharding = LeafSharding(operand);
  return sharding != nullptr && DataTiles(*sharding) > 1 && TilesAlong(*sharding, along) == 1 &&
         operand.opcode() == Opcode::kReshape && kGiven.Has(operand.operand(0)->opcode());
}

bool ForwardConcatenate(Instruction& concatenate, const Context& context) {
  const Instruction* operand = RepresentativeOperand(concatenate);
  if (operand == nullptr || !IsSpread(*operand)) return false;
  const int64_t along = concatenate.attrs<ConcatenateAttrs>().dimensions.value;
  if (context.level == 0 && !absl::c_all_of(concatenate.operands(), [&](const Instruction* o) {
        return IsShardedLayer(*o, along);
      }))
    return false;
  return Improve(concatenate, *operand->sharding(), context.For(concatenate));
}

bool ForwardReduceWindow(Instruction& reduce, const Context& context) {
  const auto& dims = reduce.attrs<ReduceWindowAttrs>().window.dims;
  if (absl::c_any_of(
          dims, [](const WindowDim& w) { return w.base_dilation > 1 || w.window_dilation > 1; }))
    return false;
  bool changed = false;
  for (int i = 0; i < reduce.operand_count() / 2; ++i) {
    if (IsSpread(*reduce.operand(i)))
      changed |= Improve(reduce, *LeafSharding(*reduce.operand(i)), context.For(reduce));
  }
  return changed;
}

bool ForwardSelectAndScatter(Instruction& scatter, const Context& context) {
  const auto& dims = scatter.attrs<SelectAndScatterAttrs>().window.dims;
  if (!IsSpread(*scatter.operand(0)) ||
      absl::c_any_of(dims, [](const WindowDim& w) { return w.base_dilation > 1; }))
    return false;
  return Improve(scatter, *LeafSharding(*scatter.operand(0)), context.For(scatter));
}

bool ForwardReshape(Instruction& reshape, const Context& context) {
  const Instruction& operand = *reshape.operand(0);
  if (!IsSpread(operand)) return false;
  return Improve(
      reshape,
      ThroughReshape(operand.shape().dims(), reshape.shape().dims(), *LeafSharding(operand)),
      context.For(reshape));
}

bool ForwardReverse(Instruction& reverse, const Context& context) {
  if (!IsSpread(*reverse.operand(0))) return false;
  return Improve(
      reverse,
      ReverseDims(*LeafSharding(*reverse.operand(0)), reverse.attrs<ReverseAttrs>().dimensions),
      context.For(reverse));
}

// The state of a loop has the sharding of the loop.
bool ForwardParameter(Instruction& parameter, const Context& context) {
  const Instruction* argument = ArgumentOf(parameter, *context.callers);
  if (argument == nullptr || argument->sharding() == nullptr) return false;
  return Improve(parameter, *argument->sharding(), context.Keeping());
}

// Some dimension has room for the tiles along `dim` on top of its own.
bool CanMoveTiles(Shape shape, const TiledSharding& sharding, int64_t dim) {
  if (shape.rank() < 2 || shape.dim(static_cast<int>(dim)) == 1) return false;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != dim && shape.dim(d) % (sharding.tile_dims[dim] * sharding.tile_dims[d]) == 0)
      return true;
  }
  return false;
}

bool ForwardSort(Instruction& sort, const Context& context) {
  const Instruction* operand = RepresentativeOperand(sort);
  if (operand == nullptr || !IsSpread(*operand)) return false;
  const TiledSharding& sharding = *LeafSharding(*operand);
  const int64_t along = sort.attrs<SortAttrs>().dimensions.value;
  if (TilesAlong(sharding, along) > 1 && !CanMoveTiles(operand->shape(), sharding, along))
    return false;
  return Improve(sort, sharding, context.For(sort));
}

// A slice of `whole`: along dimensions that it cuts every device has to have all.
bool ImproveBySlice(Instruction& instruction, const Instruction& part, const Context& context) {
  if (!IsSpread(part)) return false;
  DimVec cut;
  for (int d = 0; d < part.shape().rank(); ++d) {
    if (part.shape().dim(d) != instruction.shape().dim(d)) cut.push_back(d);
  }
  return Improve(instruction, ReplicateDims(*LeafSharding(part), cut), context.For(instruction));
}

bool ForwardDynamicSlice(Instruction& slice, const Context& context) {
  return ImproveBySlice(slice, *slice.operand(0), context);
}

bool ForwardDynamicUpdateSlice(Instruction& update, const Context& context) {
  bool changed = ImproveBySlice(update, *update.operand(1), context);
  if (IsSpread(*update.operand(0)))
    changed |= Improve(update, *update.operand(0)->sharding(), context.Keeping());
  return changed;
}

bool ForwardWhile(Instruction& loop, const Context& context) {
  if (loop.operand(0)->sharding() == nullptr) return false;
  return Improve(loop, *loop.operand(0)->sharding(), context.Keeping());
}

// Results that run along with an input have its sharding; carried values that of their start.
bool ForwardScan(Instruction& scan, const Context& context) {
  if (!scan.shape().IsTuple()) return false;
  const int results = scan.shape().element_count_of_tuple();
  const auto carries = static_cast<int>(scan.attrs<ScanAttrs>().num_carries);
  const int inputs = scan.operand_count() - carries;
  bool changed = false;
  for (int i = 0; i < results; ++i) {
    const int carry = i - (results - carries);
    const int operand = carry < 0 ? i : inputs + carry;
    if (carry < 0 && operand >= inputs) continue;
    const Instruction& source = *scan.operand(operand);
    if (IsSpread(source) && SameTree(source.shape(), scan.shape().element(i)))
      changed |= ImproveElement(scan, i, *LeafSharding(source), context.Keeping());
  }
  return changed;
}

bool ForwardRng(Instruction& rng, const Context& context) {
  bool changed = false;
  for (const Instruction* operand : rng.operands()) {
    if (context.may_combine() && IsSpread(*operand))
      changed |= Improve(rng, ReplicateAllDims(*LeafSharding(*operand), rng.shape().rank()),
                         context.For(rng));
  }
  return changed;
}

// Of a result that follows this operand. A scalar that stands for an array of them (of clamp) says
// nothing but in which manual region it is.
Sharding ShardingAfter(const Instruction& operand, const Instruction& result) {
  const Sharding& sharding = *operand.sharding();
  const bool is_alike = !operand.shape().IsArray() || !result.shape().IsArray() ||
                        operand.shape().rank() == result.shape().rank();
  if (is_alike) return sharding;
  return Sharding::Of(ReplicateAllDims(LeafAt(sharding, 0), result.shape().rank()));
}

bool ForwardOthers(Instruction& instruction, const Context& context) {
  if (IsElementwise(instruction) && context.may_combine()) {
    bool changed = false;
    for (const Instruction* operand : instruction.operands()) {
      if (!IsSpread(*operand)) continue;
      const bool may_reshard = instruction.operand_count() == 1 && HasOneInnerUser(instruction);
      changed |= Improve(instruction, ShardingAfter(*operand, instruction), {true, may_reshard});
    }
    return changed;
  }
  const Instruction* operand = RepresentativeOperand(instruction);
  if (operand == nullptr || !IsSpread(*operand)) return false;
  return Improve(instruction, ShardingAfter(*operand, instruction), context.For(instruction));
}

// A batch is divided as that of the first operand that is divided; the rest of each result is
// whole.
bool ForwardCustomCall(Instruction& call, const Context& context) {
  const int64_t batch = BatchDimsOfCall(call);
  if (batch == 0) return ForwardOthers(call, context);
  const std::vector<Instruction*> operands = call.operand_vector();
  const auto is_spread = [](const Instruction* o) { return IsSpread(*o); };
  auto it = absl::c_find_if(operands, [&](const Instruction* o) {
    return is_spread(o) && !AllReplicated(*o->sharding());
  });
  if (it == operands.end()) it = absl::c_find_if(operands, is_spread);
  if (it == operands.end()) return false;
  bool changed = false;
  const std::vector<Shape> results = LeafShapes(call.shape());
  for (size_t i = 0; i < results.size(); ++i) {
    DimVec map(static_cast<size_t>((*it)->shape().rank()), -1);
    for (int64_t d = 0; d < batch; ++d) map[static_cast<size_t>(d)] = d;
    changed |=
        ImproveElement(call, static_cast<int64_t>(i),
                       MapDims(*LeafSharding(**it), map, results[i].rank()), context.For(call));
  }
  return changed;
}

using ForwardRule = bool (*)(Instruction& instruction, const Context& context);

constexpr struct {
  Opcode opcode;
  ForwardRule rule;
} kForwardRules[] = {
    {Opcode::kBroadcast, ForwardBroadcast},
    {Opcode::kConcatenate, ForwardConcatenate},
    {Opcode::kCustomCall, ForwardCustomCall},
    {Opcode::kConvolution, ImproveConvolution},
    {Opcode::kDot, ImproveDot},
    {Opcode::kDynamicSlice, ForwardDynamicSlice},
    {Opcode::kDynamicUpdateSlice, ForwardDynamicUpdateSlice},
    {Opcode::kGather, ImproveGather},
    {Opcode::kGetTupleElement, ForwardTupleElement},
    {Opcode::kParameter, ForwardParameter},
    {Opcode::kReduce, ForwardReduce},
    {Opcode::kReduceWindow, ForwardReduceWindow},
    {Opcode::kReshape, ForwardReshape},
    {Opcode::kReverse, ForwardReverse},
    {Opcode::kRng, ForwardRng},
    {Opcode::kScan, ForwardScan},
    {Opcode::kScatter, ImproveScatter},
    {Opcode::kSelectAndScatter, ForwardSelectAndScatter},
    {Opcode::kSort, ForwardSort},
    {Opcode::kTranspose, ForwardTranspose},
    {Opcode::kTuple, ForwardTuple},
    {Opcode::kWhile, ForwardWhile},
};

constexpr auto kForwardRuleOf = [] {
  std::array<ForwardRule, kOpcodeCount> rules = {};
  rules.fill(ForwardOthers);
  for (const auto& row : kForwardRules) rules[static_cast<size_t>(row.opcode)] = row.rule;
  return rules;
}();

}  // namespace

Instruction* ArgumentOf(const Instruction& parameter, const ShardedCallers& callers) {
  const Instruction* caller = callers.Of(*parameter.parent());
  if (caller == nullptr) return nullptr;
  if (caller->opcode() == Opcode::kCall)
    return caller->operand(static_cast<int>(parameter.parameter_number()));
  for (int i = 0; caller->opcode() == Opcode::kConditional && i < caller->call_count(); ++i) {
    if (caller->call(i) == parameter.parent()) return caller->operand(i + 1);
  }
  return nullptr;
}

bool IsPassThroughCall(const Instruction& instruction) {
  constexpr std::string_view kAnyShape[] = {"Sharding", "X64Combine", "LayoutConstraint",
                                            kBarrierFrom, kBarrierTo};
  constexpr std::string_view kSameRank[] = {
      "ResizeNearest", "ResizeBilinear", "ResizeNearestGrad", "ResizeBilinearGrad",
      "Cholesky",      "MoveToHost",     "MoveToDevice",      "annotate_device_placement",
      "PinToDevice",   "PinToDeviceSram"};
  if (instruction.opcode() != Opcode::kCustomCall || instruction.operand_count() == 0) return false;
  const std::string_view target = instruction.attrs<CustomCallAttrs>().custom_call_target;
  if (absl::c_linear_search(kAnyShape, target)) return true;
  const Shape from = instruction.operand(0)->shape(), to = instruction.shape();
  return instruction.operand_count() == 1 && from.IsArray() && to.IsArray() &&
         from.rank() == to.rank() && absl::c_linear_search(kSameRank, target);
}

const Instruction* RepresentativeOperand(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (IsCustomCall(instruction, kBarrierFrom)) return nullptr;
  if (kFollowFirst.Has(opcode) || IsPassThroughCall(instruction))
    return instruction.operand(0)->sharding() == nullptr ? nullptr : instruction.operand(0);
  if (!IsElementwise(opcode) && !kFollowAny.Has(opcode)) return nullptr;
  const Instruction* best = nullptr;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->sharding() == nullptr) continue;
    if (best == nullptr || IsMoreSpecific(*operand->sharding(), *best->sharding())) best = operand;
  }
  return best;
}

bool PassesAt(const Instruction& instruction, int level) {
  constexpr OpcodeSet kAlways = {
      Opcode::kCall,           Opcode::kConcatenate,         Opcode::kDynamicSlice,
      Opcode::kReshape,        Opcode::kDynamicUpdateSlice,  Opcode::kTuple,
      Opcode::kTranspose,      Opcode::kOptimizationBarrier, Opcode::kWhile,
      Opcode::kGetTupleElement};
  if (kAlways.Has(instruction.opcode()) || IsElementwise(instruction) ||
      IsCustomCall(instruction, "Sharding"))
    return true;
  return level >= (instruction.opcode() == Opcode::kBroadcast ? 2 : 1);
}

bool ImproveFromOperands(Instruction& instruction, const Context& context) {
  return kForwardRuleOf[static_cast<size_t>(instruction.opcode())](instruction, context);
}

}  // namespace hlo
