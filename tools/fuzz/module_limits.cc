#include "tools/fuzz/module_limits.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "lib/analysis/trip_count.h"
#include "lib/eval/region.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/shape_rules.h"
#include "lib/types/element_type.h"
#include "lib/types/shape_util.h"
#include "passes/control_flow/loop_knowledge.h"
#include "passes/util/holds_every.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr int kMostInstructions = 400;
constexpr int64_t kMostElements = 1 << 16;  // of one array

bool HoldsAny(const Module& module, std::initializer_list<Opcode> opcodes) {
  const std::vector<Computation*>& all = module.computations();
  return std::any_of(all.begin(), all.end(), [&](const Computation* computation) {
    return computation->MayHoldAny(opcodes);
  });
}

// Reads only elements and what was combined before, converted at most.
bool ReadsParameters(const Instruction& instruction) {
  return std::all_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) {
                       while (operand->opcode() == Opcode::kConvert) operand = operand->operand(0);
                       return operand->opcode() == Opcode::kParameter;
                     });
}

// A sum or product that rounds to a narrow float at every step: it stops growing where an element
// is less than half a unit in its last place, and when that happens depends on the order. Alone in
// its region it is carried wide.
bool StopsGrowing(const Instruction& instruction) {
  const ElementType type = instruction.shape().element_type();
  return IsFloat(type) && BitWidth(type) < 32 && instruction.parent()->root() != &instruction;
}

// Chooses by an order that NaNs have no place in: what it chose before is lost where it meets one.
bool LosesItsPlaceAtNan(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCompare) return false;
  const auto& attrs = instruction.attrs<CompareAttrs>();
  if (!IsFloat(instruction.operand(0)->shape().element_type()) ||
      attrs.type == ComparisonType::kTotalOrder || attrs.direction == ComparisonDirection::kNe)
    return false;
  for (const Instruction* other : instruction.parent()->instructions()) {
    if (other->opcode() == Opcode::kCompare && other->operand(0) == other->operand(1) &&
        other->attrs<CompareAttrs>().direction == ComparisonDirection::kNe)
      return false;
  }
  return true;
}

// Whether the region gives the same (but for rounding) in whatever order it meets the elements: one
// associative operation for each array, or a choice among them.
bool IsFreeOfOrder(const Computation& region) {
  constexpr OpcodeSet kHarmless = {Opcode::kParameter, Opcode::kConstant, Opcode::kConvert,
                                   Opcode::kTuple};
  constexpr OpcodeSet kChooses = {Opcode::kCompare, Opcode::kSelect,  Opcode::kAnd,
                                  Opcode::kOr,      Opcode::kMaximum, Opcode::kMinimum};
  for (const Instruction* instruction : region.instructions()) {
    const Opcode opcode = instruction->opcode();
    if (LosesItsPlaceAtNan(*instruction)) return false;
    if (kHarmless.Has(opcode) || kChooses.Has(opcode)) continue;
    if (!HasTrait(opcode, kAssociative) || !ReadsParameters(*instruction) ||
        StopsGrowing(*instruction))
      return false;
  }
  return true;
}

// Constants that are no more than there is to be shared out.
bool HasFittingGroups(const Instruction& ragged_dot) {
  const Instruction& sizes = *ragged_dot.operand(2);
  if (!sizes.IsConstant() || sizes.shape().rank() != 1) return false;
  const auto ragged = ragged_dot.attrs<RaggedDotAttrs>().lhs_ragged_dims[0];
  int64_t rest = ragged_dot.operand(0)->shape().dim(static_cast<int>(ragged));
  for (int64_t i = 0; i < sizes.literal().element_count(); ++i) {
    const int64_t size = sizes.literal().GetInt(i);
    if (size < 0 || size > rest) return false;
    rest -= size;
  }
  return true;
}

bool IsNarrowReduction(const Instruction& instruction) {
  if (!kReduceOps.Has(instruction.opcode())) return false;
  const ElementType type = instruction.operand(0)->shape().element_type();
  return IsFloat(type) && BitWidth(type) < 32;
}

}  // namespace

bool DependsOnOrder(const Module& module) {
  constexpr OpcodeSet kCombines = {Opcode::kReduce, Opcode::kReduceWindow, Opcode::kScatter,
                                   Opcode::kSelectAndScatter};
  return AnyInstruction(module, [&](const Instruction& instruction) {
    return kCombines.Has(instruction.opcode()) &&
           !IsFreeOfOrder(*instruction.call(instruction.call_count() - 1));
  });
}

bool ReducesNarrowFloats(const Module& module) { return AnyInstruction(module, IsNarrowReduction); }

bool ReducesNarrowTuples(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    return IsNarrowReduction(instruction) && instruction.shape().IsTuple();
  });
}

bool RoundsProducts(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    constexpr OpcodeSet kProducts = {Opcode::kDot, Opcode::kConvolution, Opcode::kScaledDot,
                                     Opcode::kRaggedDot};
    if (!kProducts.Has(instruction.opcode())) return false;
    const ElementType type = instruction.shape().element_type();
    const ElementType from = instruction.operand(0)->shape().element_type();
    return IsFloat(ComponentType(type)) ? ByteSize(type) == 1 : IsFloat(ComponentType(from));
  });
}

bool IsLarge(const Module& module) {
  if (module.instruction_count() > kMostInstructions) return true;
  bool large = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      ForEachLeaf(instruction->shape(), [&](Shape leaf, const ShapeIndex&) {
        large |= leaf.IsArray() && leaf.element_count() > kMostElements;
      });
    }
  }
  return large;
}

bool KeepsRandomState(const Module& module) {
  const std::vector<Computation*>& all = module.computations();
  return HoldsAny(module, {Opcode::kRngGetAndUpdateState}) ||
         std::any_of(all.begin(), all.end(), [](const Computation* computation) {
           return !computation->is_entry() && computation->MayHoldAny({Opcode::kRng});
         });
}

bool DrawsWhereSeveralCall(const Module& module) {
  const std::vector<Computation*>& all = module.computations();
  return std::any_of(all.begin(), all.end(), [](const Computation* computation) {
    if (!computation->MayHoldAny({Opcode::kRng, Opcode::kRngGetAndUpdateState})) return false;
    while (computation->callers().size() == 1)
      computation = computation->callers()[0].caller->parent();
    return !computation->callers().empty();
  });
}

bool DrawsOnSeveralDevices(const Module& module) {
  return RunsOnSeveralDevices(module) && HoldsAny(module, {Opcode::kRng});
}

bool TakesGroupSizes(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kRaggedDot && !HasFittingGroups(instruction);
  });
}

namespace {

bool SetsAgain(const Instruction& set) {
  const auto dim = static_cast<int>(set.attrs<DimensionAttrs>().dimensions.value);
  return !set.shape().is_dynamic(dim) || set.operand(0)->shape().is_dynamic(dim);
}

// The shape that follows from the operands is another one.
bool IsDeclaredOtherwise(const Instruction& instruction) {
  std::vector<Signature> signatures;
  for (const Computation* call : instruction.calls()) signatures.push_back(call->signature());
  const std::vector<Shape> shapes = instruction.operand_shapes();
  const absl::StatusOr<Shape> inferred =
      InferShape(ShapeArgs(instruction.opcode(), shapes, instruction.attrs_ptr(), signatures));
  return inferred.ok() && !Compatible(*inferred, instruction.shape());
}

bool PadsWindows(const Instruction& reduce_window) {
  const Window& window = reduce_window.attrs<ReduceWindowAttrs>().window;
  return std::any_of(window.dims.begin(), window.dims.end(), [](const WindowDim& dim) {
    return dim.pad_low != 0 || dim.pad_high != 0 || dim.base_dilation != 1;
  });
}

// A dimension is named as the one that follows from the others, but is not dynamic.
bool InfersAnother(const Instruction& reshape) {
  const auto& inferred = reshape.attrs<ReshapeAttrs>().inferred_dimension;
  return inferred && !reshape.shape().is_dynamic(static_cast<int>(*inferred));
}

bool SameDynamicDimensions(Shape a, Shape b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.is_dynamic(d) != b.is_dynamic(d)) return false;
  }
  return true;
}

int DynamicDimsOf(Shape array) {
  int count = 0;
  for (int d = 0; d < array.rank(); ++d) count += array.is_dynamic(d) ? 1 : 0;
  return count;
}

// Of the arrays that a sort orders together, some are dynamic where others are not.
bool SortsUnlikeArrays(const Instruction& sort) {
  const auto operands = sort.operands();
  return std::any_of(operands.begin(), operands.end(), [&](const Instruction* x) {
    return !SameDynamicDimensions(x->shape(), sort.operand(0)->shape());
  });
}

bool ShowsAfterEnd(const Instruction& instruction) {
  constexpr OpcodeSet kReadsPlaces = {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
                                      Opcode::kGather, Opcode::kScatter, Opcode::kSlice};
  constexpr OpcodeSet kMayBeStatic = {Opcode::kConvolution, Opcode::kDot, Opcode::kGetDimensionSize,
                                      Opcode::kGetTupleElement, Opcode::kReduce};
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kSetDimensionSize) return SetsAgain(instruction);
  if (opcode == Opcode::kDynamicReshape) return true;  // which elements: if not all, nobody says
  const auto operands = instruction.operands();
  if (std::none_of(operands.begin(), operands.end(),
                   [](const Instruction* x) { return x->shape().has_dynamic_dims(); }))
    return false;
  if (kReduceOps.Has(opcode)) {
    if (!CombinerOpcode(*instruction.to_apply())) return true;
    if (opcode == Opcode::kReduceWindow && PadsWindows(instruction)) return true;
  }
  if (!instruction.shape().has_dynamic_dims() && !kMayBeStatic.Has(opcode)) return true;
  // (Without elements any size fits.)
  if (opcode == Opcode::kReshape &&
      (InfersAnother(instruction) || instruction.shape().element_count() == 0 ||
       DynamicDimsOf(instruction.shape()) > 1))
    return true;
  if (opcode == Opcode::kSort && SortsUnlikeArrays(instruction)) return true;
  return kReadsPlaces.Has(opcode) || IsDeclaredOtherwise(instruction);
}

bool IsOfNarrowestFloats(const Instruction& instruction) {
  constexpr int kLeastBits = 16;
  bool is_narrow = false;
  ForEachLeaf(instruction.shape(), [&](Shape leaf, const ShapeIndex&) {
    is_narrow |= leaf.IsArray() && IsFloat(leaf.element_type()) &&
                 BitWidth(leaf.element_type()) < kLeastBits;
  });
  return is_narrow;
}

}  // namespace

bool ReadsAfterEnds(const Module& module) { return AnyInstruction(module, ShowsAfterEnd); }

bool StopsBeforeEigenvalues(const Module& module) {
  constexpr int kSweepsEnough = 15;
  constexpr double kToleranceEnough = 1e-5;
  return AnyInstruction(module, [](const Instruction& instruction) {
    if (!IsCustomCall(instruction, "Eigh")) return false;
    // "lower,sorted,sweeps,tolerance"
    const std::vector<std::string> texts =
        absl::StrSplit(std::string(instruction.backend_config()), ',');
    int sweeps = 0;
    double tolerance = 1;
    return texts.size() != 4 || !absl::SimpleAtoi(texts[2], &sweeps) ||
           !absl::SimpleAtod(texts[3], &tolerance) || sweeps < kSweepsEnough ||
           tolerance > kToleranceEnough;
  });
}

bool DeclaresSizes(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    constexpr OpcodeSet kMakeSizes = {Opcode::kSetDimensionSize, Opcode::kDynamicReshape,
                                      Opcode::kCustomCall,       Opcode::kFusion,
                                      Opcode::kParameter,        Opcode::kConstant};
    const bool reads_dynamic =
        std::any_of(instruction.operands().begin(), instruction.operands().end(),
                    [](const Instruction* x) { return x->shape().has_dynamic_dims(); });
    return instruction.shape().has_dynamic_dims() && !reads_dynamic &&
           !kMakeSizes.Has(instruction.opcode()) && !kBodyRunners.Has(instruction.opcode());
  });
}

namespace {

// How many read element i of a tuple.
int ReadersOf(const Instruction& tuple, int i) {
  int readers = 0;
  for (const Use& use : tuple.uses()) {
    if (use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() == i)
      readers += use.user->use_count() + (use.user->is_root() ? 1 : 0);
  }
  return readers;
}

// A transfer that ends on another channel than it began on, with a tuple in between.
bool EndsOtherTransfer(const Instruction& done) {
  if (done.opcode() != Opcode::kSendDone && done.opcode() != Opcode::kRecvDone) return false;
  const Instruction& start = *ThroughTuples(done.operand(0));
  return BeginsPair(start.opcode()) && start.attrs_ptr() != done.attrs_ptr();
}

}  // namespace

bool MislaysWhatIsUnderWay(const Module& module) {
  return AnyInstruction(module, [](const Instruction& loop) {
    if (EndsOtherTransfer(loop)) return true;
    if (loop.opcode() != Opcode::kWhile) return false;
    const Instruction& result = *loop.while_body()->root();
    if (result.opcode() != Opcode::kTuple) return false;
    for (int i = 0; i < result.operand_count(); ++i) {
      if (!YieldsUnderWay(result.operand(i)->opcode())) continue;
      const bool ends_once = loop.is_root() || ReadersOf(loop, i) == 1;
      if (!ends_once || ReadersOf(*loop.while_body()->parameter(0), i) != 1 ||
          loop.operand(0)->use_count() != 1)
        return true;
    }
    return false;
  });
}

bool DependsOnPlatform(const Module& module) {
  return TakesGroupSizes(module) || DeclaresSizes(module) || SortsScales(module) ||
         CombinesInOtherTypes(module) || DrawsWhereSeveralCall(module);
}

bool HoldsNarrowestFloats(const Module& module) {
  return AnyInstruction(module, IsOfNarrowestFloats);
}

bool HoldsFewNumbers(const Module& module) {
  return AnyInstruction(module, [](const Instruction& x) {
    const bool is_number = x.IsConstant() && x.shape().IsArray() && x.shape().rank() == 0 &&
                           IsFloat(x.shape().element_type());
    return IsOfNarrowestFloats(x) ||
           (is_number && !x.literal().is_elided() && !std::isfinite(x.literal().GetDouble()));
  });
}

bool SortsScales(const Module& module) {
  return AnyInstruction(module, [](const Instruction& sort) {
    if (sort.opcode() != Opcode::kSort) return false;
    for (const Instruction* instruction : sort.to_apply()->instructions()) {
      if (LosesItsPlaceAtNan(*instruction) &&
          instruction->operand(0)->shape().element_type() == ElementType::kF8E8M0FNU)
        return true;
    }
    return false;
  });
}

bool CombinesInOtherTypes(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    if (!HasTrait(instruction.opcode(), kCollective) || instruction.call_count() != 1 ||
        instruction.operand_count() == 0 || instruction.call(0)->parameter_count() == 0)
      return false;
    const Shape taken = instruction.call(0)->parameter(0)->shape();
    return absl::c_any_of(instruction.operands(), [&](const Instruction* operand) {
      const Shape given = operand->shape();
      return given.IsArray() && taken.IsArray() && given.element_type() != taken.element_type();
    });
  });
}

bool HoldsNarrowestQuotients(const Module& module) {
  int count = 0;
  return AnyInstruction(module, [&](const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kDivide || !IsOfNarrowestFloats(instruction)) return false;
    return ++count > 1 || instruction.operand(1)->opcode() == Opcode::kBroadcast;
  });
}

bool AsksForRoundedOperands(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kDot) return false;
    const DotAlgorithm asked = instruction.attrs<DotAttrs>().algorithm;
    return asked != DotAlgorithm::kUnset && asked != DotAlgorithm::kF32F32F32 &&
           asked != DotAlgorithm::kF64F64F64;
  });
}

bool MixesTypesInDots(const Module& module) {
  return AnyInstruction(module, [](const Instruction& dot) {
    if (dot.opcode() != Opcode::kDot) return false;
    const ElementType type = dot.shape().element_type();
    const ElementType lhs = dot.operand(0)->shape().element_type();
    return lhs != dot.operand(1)->shape().element_type() || type == ElementType::kF8E8M0FNU ||
           (BitWidth(lhs) <= 8 && BitWidth(type) <= 8 && !HoldsEvery(type, lhs));
  });
}

namespace {

// Whether it puts each of two elements, both 0 or 1 or one of each, before the other.
bool IsNoOrder(const Computation& comparator) {
  const auto program = RegionProgram::Compile(comparator);
  if (!program.ok() || *program == nullptr) return false;
  const auto comes_first = [&](const int(&values)[2]) {
    std::vector<Literal> literals;
    std::vector<const uint8_t*> arguments;
    for (int i = 0; i < comparator.parameter_count(); ++i) {
      literals.push_back(Literal::Filled(comparator.parameter(i)->shape(), values[i % 2]));
      arguments.push_back(literals.back().data());
    }
    uint8_t result = 0;
    uint8_t* const results[] = {&result};
    (*program)->Run(arguments.data(), results, 1);
    return result != 0;
  };
  return comes_first({0, 0}) || comes_first({1, 1}) || (comes_first({0, 1}) && comes_first({1, 0}));
}

}  // namespace

bool SortsByNoOrder(const Module& module) {
  return AnyInstruction(module, [](const Instruction& sort) {
    return sort.opcode() == Opcode::kSort && IsNoOrder(*sort.to_apply());
  });
}

bool ConvolvesToS8(const Module& module) {
  return AnyInstruction(module, [](const Instruction& call) {
    return call.opcode() == Opcode::kCustomCall && call.shape().IsTuple() &&
           call.attrs<CustomCallAttrs>().custom_call_target.starts_with("__cudnn$conv") &&
           call.shape().element_count_of_tuple() > 0 && call.shape().element(0).IsArray() &&
           call.shape().element(0).element_type() == ElementType::kS8;
  });
}

bool DeclaresTrips(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kWhile) return false;
    const auto said = LoopKnowledge::FromConfig(instruction.backend_config()).trip_count;
    return said && TripCount(instruction) != said;
  });
}

bool RunsOnSeveralDevices(const Module& module) {
  return module.config().replica_count * module.config().num_partitions != 1;
}

bool NamesAbsentDevices(const Module& module) {
  const ModuleConfig& config = module.config();
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const std::optional<GroupMode> mode = GroupModeOf(*instruction);
      if (!mode) continue;
      // Where there is one replica, or partition, the verifier takes all ids of them.
      const int64_t ids = *mode == GroupMode::kFlattened
                              ? config.replica_count * config.num_partitions
                          : *mode == GroupMode::kCrossPartition ? config.num_partitions
                                                                : config.replica_count;
      for (const std::vector<int64_t>& group : ReplicaGroupsOf(*instruction).Flatten()) {
        if (std::any_of(group.begin(), group.end(),
                        [&](int64_t id) { return id < 0 || id >= ids; }))
          return true;
      }
    }
  }
  return false;
}

void DropMarksOfLoops(Module& module) {
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile && instruction->extras() != nullptr)
        instruction->mutable_extras().frontend_attributes = {};
    }
  }
}

}  // namespace hlo
