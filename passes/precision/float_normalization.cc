#include "passes/precision/float_normalization.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/region.h"
#include "lib/analysis/side_effects.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/check.h"
#include "passes/precision/float_support.h"
#include "passes/precision/holds_type.h"
#include "passes/rewrite.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"

namespace hlo {
namespace {

constexpr OpcodeSet kKeptNarrow = {Opcode::kTuple,
                                   Opcode::kGetTupleElement,
                                   Opcode::kConstant,
                                   Opcode::kDomain,
                                   Opcode::kFusion,
                                   Opcode::kParameter,
                                   Opcode::kConvert,
                                   Opcode::kCall,
                                   Opcode::kWhile,
                                   Opcode::kCustomCall,
                                   Opcode::kConditional,
                                   Opcode::kBitcast,
                                   Opcode::kRng,
                                   Opcode::kAsyncUpdate,
                                   Opcode::kBitcastConvert,
                                   Opcode::kCopyStart,
                                   Opcode::kCopyDone,
                                   Opcode::kOptimizationBarrier,
                                   Opcode::kRngBitGenerator,
                                   Opcode::kScaledDot,
                                   Opcode::kStochasticConvert};

constexpr OpcodeSet kLookAtBits = {Opcode::kClz,
                                   Opcode::kMulHi,
                                   Opcode::kPopcnt,
                                   Opcode::kShiftLeft,
                                   Opcode::kShiftRightLogical,
                                   Opcode::kShiftRightArithmetic};

// The narrow type that each registered name ends with, and the wide one.
struct TypePair {
  ElementType low;
  ElementType high;
};
constexpr TypePair kTypePairs[] = {{ElementType::kBF16, ElementType::kF32},
                                   {ElementType::kF4E2M1FN, ElementType::kF16},
                                   {ElementType::kF8E3M4, ElementType::kF16},
                                   {ElementType::kF8E4M3, ElementType::kF16},
                                   {ElementType::kF8E4M3B11FNUZ, ElementType::kF16},
                                   {ElementType::kF8E4M3FN, ElementType::kF16},
                                   {ElementType::kF8E4M3FNUZ, ElementType::kF16},
                                   {ElementType::kF8E5M2, ElementType::kF16},
                                   {ElementType::kF8E5M2FNUZ, ElementType::kF16},
                                   {ElementType::kF8E8M0FNU, ElementType::kF32},
                                   {ElementType::kS4, ElementType::kS8},
                                   {ElementType::kU4, ElementType::kU8}};

// What a GPU computes on any type: it moves bits.
constexpr OpcodeSet kMovesBits = {Opcode::kAllGather,
                                  Opcode::kAllReduce,
                                  Opcode::kAllToAll,
                                  Opcode::kBroadcast,
                                  Opcode::kCollectivePermute,
                                  Opcode::kConcatenate,
                                  Opcode::kCopy,
                                  Opcode::kDynamicSlice,
                                  Opcode::kDynamicUpdateSlice,
                                  Opcode::kGather,
                                  Opcode::kPad,
                                  Opcode::kReduceScatter,
                                  Opcode::kReshape,
                                  Opcode::kReverse,
                                  Opcode::kScatter,
                                  Opcode::kSelect,
                                  Opcode::kSelectAndScatter,
                                  Opcode::kSlice,
                                  Opcode::kTranspose};

constexpr CudaCapability kHopper = {9, 0};  // computes bf16
constexpr CudaCapability kAda = {8, 9};     // multiplies matrices of f8

// What is computed on the narrow type as it is.
class Support {
 public:
  Support(const FloatNormalizationOptions& options, ElementType low)
      : listed_({options.narrow, options.mixed, {}}),
        lists_any_(!options.narrow.empty() || !options.mixed.empty()),
        gpu_(options.support == "gpu"),
        capability_(options.compute_capability),
        low_(low) {}

  bool TakesNarrow(const Instruction& instruction) const {
    return (lists_any_ && listed_.TakesNarrow(instruction)) || (gpu_ && OnGpu(instruction));
  }

  bool Mixes(const Instruction& instruction) const {
    if (lists_any_ && listed_.Mixes(instruction)) return true;
    return gpu_ && instruction.opcode() == Opcode::kDot && IsProductOnGpu(instruction) &&
           instruction.shape().element_type() == ElementType::kF32;
  }

 private:
  bool OnGpu(const Instruction& instruction) const {
    constexpr OpcodeSet kFunctions = {Opcode::kExp, Opcode::kLog};
    constexpr OpcodeSet kArithmetic = {Opcode::kAdd, Opcode::kMultiply, Opcode::kSubtract};
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kDot) return IsProductOnGpu(instruction);
    if (opcode == Opcode::kReduce) {
      const std::vector<Instruction*> combiner = instruction.to_apply()->instruction_vector();
      return absl::c_all_of(combiner, [&](const Instruction* part) {
        return part->opcode() == Opcode::kParameter || OnGpu(*part);
      });
    }
    if (kFunctions.Has(opcode)) return low_ == ElementType::kBF16;
    if (kArithmetic.Has(opcode)) return low_ == ElementType::kBF16 && capability_ >= kHopper;
    return kMovesBits.Has(opcode);
  }

  // The libraries multiply bf16, and f8 but for two of the kind with few digits.
  bool IsProductOnGpu(const Instruction& dot) const {
    const ElementType a = dot.operand(0)->shape().element_type();
    const ElementType b = dot.operand(1)->shape().element_type();
    const ElementType result = dot.shape().element_type();
    if (low_ == ElementType::kBF16)
      return a == low_ && b == low_ && (result == low_ || result == ElementType::kF32);
    const auto is_f8 = [](ElementType type) {
      return type == ElementType::kF8E4M3FN || type == ElementType::kF8E5M2;
    };
    return capability_ >= kAda && is_f8(a) && is_f8(b) && (a != b || a == ElementType::kF8E4M3FN);
  }

  FloatSupport listed_;
  bool lists_any_ = false;
  bool gpu_ = false;
  CudaCapability capability_;
  ElementType low_ = ElementType::kBF16;
};

class Normalizer {
 public:
  Normalizer(Module& module, PassContext& context, TypePair types, Support support)
      : module_(module),
        context_(context),
        low_(types.low),
        high_(types.high),
        support_(std::move(support)),
        effects_(context.analyses().Get<SideEffects>(module)) {}

  absl::StatusOr<bool> Run() {
    const std::vector<Computation*> computations = context_.NonFusionComputations(module_);
    FindKeptCombiners(computations);
    bool changed = false;
    for (Computation* computation : computations) {
      if (kept_.contains(computation) || IsAsyncBody(*computation)) continue;
      for (Instruction* instruction : computation->PostOrder()) {
        if (instruction->is_dead() || !IsToChange(*instruction) || IsSupported(*instruction))
          continue;
        if (!context_.MayRewrite()) return changed;
        context_.Passed(*instruction, "its types are not supported together: converted");
        RETURN_IF_ERROR(MayBecomeNarrow(*instruction) ? Narrow(instruction) : Change(instruction));
        context_.Count("normalized");
        changed = true;
      }
    }
    return changed;
  }

 private:
  static bool CombinesDevices(const Instruction& instruction) {
    return HasTrait(instruction.opcode(), kCollective) && instruction.call_count() > 0;
  }

  // What computes a combiner of a collective stays; others get copies of it.
  void FindKeptCombiners(const std::vector<Computation*>& computations) {
    for (const Computation* computation : computations) {
      for (const Instruction* instruction : computation->instructions()) {
        if (!CombinesDevices(*instruction)) continue;
        for (const Computation* callee : instruction->calls()) kept_.insert(callee);
      }
    }
  }

  bool HasLow(Shape shape) const { return HoldsType(shape, low_); }

  // Whether the values that `instruction` and what it calls take and give hold one of `type`.
  static bool Touches(ElementType type, const Instruction& instruction) {
    if (HoldsType(instruction.shape(), type)) return true;
    for (const Instruction* operand : instruction.operands()) {
      if (HoldsType(operand->shape(), type)) return true;
    }
    if (CombinesDevices(instruction)) return false;  // how it combines is its own business
    for (const Computation* callee : instruction.calls()) {
      if (HoldsType(callee->root()->shape(), type)) return true;
      for (const Instruction* parameter : callee->parameters()) {
        if (HoldsType(parameter->shape(), type)) return true;
      }
    }
    return false;
  }

  bool IsSupported(const Instruction& instruction) const {
    return support_.TakesNarrow(instruction) &&
           (support_.Mixes(instruction) || !Touches(high_, instruction));
  }

  // Of an instruction that takes narrow values, but not beside wide ones: whether its result is as
  // narrow as it would be with narrow operands.
  bool MayBecomeNarrow(const Instruction& instruction) const {
    if (!support_.TakesNarrow(instruction) || instruction.call_count() > 0 ||
        instruction.shape().element_type() != low_)
      return false;
    for (int i = 0; i < instruction.operand_count(); ++i) {
      const ElementType type = instruction.operand(i)->shape().element_type();
      if (type == high_ && !KeepsPrecision(instruction, i)) return false;
    }
    return true;
  }

  absl::Status Narrow(Instruction* instruction) const {
    Builder builder(instruction);
    for (int i = 0; i < instruction->operand_count(); ++i) {
      Instruction* operand = instruction->operand(i);
      if (operand->shape().element_type() != high_) continue;
      const bool was_narrow = operand->opcode() == Opcode::kConvert &&
                              operand->operand(0)->shape().element_type() == low_;
      instruction->ReplaceOperand(
          i, was_narrow ? operand->operand(0)
                        : Converted(operand, operand->shape().WithElementType(low_), builder));
    }
    return builder.status();
  }

  bool IsToChange(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode();
    // A product of integers takes its operands as such, whatever they are.
    const bool is_product = kMatrixProducts.Has(opcode);
    if (is_product && IsInteger(instruction.shape().element_type()) && IsFloat(low_)) return false;
    if (kKeptNarrow.Has(opcode) || HasTrait(opcode, kAsyncStart) || HasTrait(opcode, kAsyncDone) ||
        (IsInteger(low_) && kLookAtBits.Has(opcode)))
      return false;
    if (!HasLow(instruction.shape()) &&
        absl::c_none_of(instruction.operands(),
                        [&](const Instruction* operand) { return HasLow(operand->shape()); }))
      return false;
    // What is under way is handed on as it is.
    if (absl::c_any_of(instruction.operands(), [](const Instruction* operand) {
          return HasTrait(operand->opcode(), kAsyncStart);
        }))
      return false;
    if (effects_.Of(instruction)) {
      context_.Missed(instruction, "it has side effects");
      return false;
    }
    return true;
  }

  Shape Widened(Shape shape) const {
    if (shape.IsTuple()) {
      for (int i = 0; i < shape.element_count_of_tuple(); ++i)
        shape = shape.WithElement(i, Widened(shape.element(i)));
      return shape;
    }
    return shape.element_type() == low_ ? shape.WithElementType(high_) : shape;
  }

  // `value` with its leaves converted to those of `shape`.
  static Instruction* Converted(Instruction* value, Shape shape, Builder& builder) {
    if (Compatible(value->shape(), shape)) return value;
    if (!shape.IsTuple()) return builder.OpWithShape(Opcode::kConvert, shape, {value});
    std::vector<Instruction*> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      elements.push_back(Converted(builder.GetTupleElement(value, i), shape.element(i), builder));
    return builder.Tuple(elements);
  }

  // Gives `value` the wide shape; who reads it gets it narrowed again, but for conversions to the
  // wide type, which read it as it is.
  absl::Status Widen(Instruction* value) {
    Computation& computation = *value->parent();
    const Shape narrow = value->shape();
    const Shape wide = Widened(narrow);
    if (Compatible(narrow, wide)) return absl::OkStatus();
    std::vector<Use> uses(value->uses().begin(), value->uses().end());
    absl::c_sort(uses, [](const Use& a, const Use& b) {
      return std::pair(a.user->id(), a.operand_index) < std::pair(b.user->id(), b.operand_index);
    });
    const bool was_root = value->is_root();
    value->set_shape(wide);
    Builder builder(&computation, value);
    Instruction* narrowed = nullptr;
    const auto narrow_value = [&] {
      if (narrowed == nullptr) narrowed = Converted(value, narrow, builder);
      return narrowed;
    };
    for (const Use& use : uses) {
      if (use.user->opcode() == Opcode::kConvert && Compatible(use.user->shape(), wide) &&
          !use.user->has_control_edges()) {
        computation.Replace(use.user, value);
      } else {
        use.user->ReplaceOperand(use.operand_index, narrow_value());
      }
    }
    if (was_root) computation.set_root(narrow_value());
    return builder.status();
  }

  // A copy of `from` with wide parameters and results that rounds its results.
  absl::StatusOr<Computation*> WideCopy(const Computation& from, Computation* caller) {
    Computation* copy = module_.CloneComputation(from, ".clone", /*deep=*/false);
    module_.MoveToFront(copy, caller);
    if (kept_.contains(&from)) {  // not normalized itself
      for (Instruction* instruction : copy->PostOrder()) {
        if (!instruction->is_dead() && IsToChange(*instruction))
          RETURN_IF_ERROR(Change(instruction));
      }
    }
    for (int i = 0; i < copy->parameter_count(); ++i) RETURN_IF_ERROR(Widen(copy->parameter(i)));
    Builder builder(copy);
    copy->set_root(Converted(copy->root(), Widened(copy->root()->shape()), builder));
    RETURN_IF_ERROR(builder.status());
    return copy;
  }

  // What `instruction` calls instead of `region`; null: it stays. Devices combine wide values
  // without rounding in between.
  absl::StatusOr<Computation*> WideRegion(const Computation& region,
                                          const Instruction& instruction) {
    if (CombinesDevices(instruction)) {
      if (!HasLow(region.root()->shape())) return static_cast<Computation*>(nullptr);
      const std::optional<Opcode> opcode = CombinerOpcode(region);
      if (opcode) return ScalarComputation(module_, *opcode, high_);
    }
    return WideCopy(region, instruction.parent());
  }

  absl::Status Change(Instruction* instruction) {
    Builder builder(instruction);
    absl::flat_hash_map<const Instruction*, Instruction*> widened;  // of this instruction
    for (int i = 0; i < instruction->operand_count(); ++i) {
      Instruction* operand = instruction->operand(i);
      if (!HasLow(operand->shape())) continue;
      Instruction*& wide = widened[operand];
      if (wide == nullptr) wide = Converted(operand, Widened(operand->shape()), builder);
      instruction->ReplaceOperand(i, wide);
    }
    RETURN_IF_ERROR(builder.status());
    for (int i = 0; i < instruction->call_count(); ++i) {
      ASSIGN_OR_RETURN(Computation* const wide, WideRegion(*instruction->call(i), *instruction));
      if (wide != nullptr) instruction->SetCall(i, wide);
    }
    return Widen(instruction);
  }

  Module& module_;
  PassContext& context_;
  ElementType low_;
  ElementType high_;
  Support support_;
  SideEffects& effects_;
  absl::flat_hash_set<const Computation*> kept_;
};

}  // namespace

absl::StatusOr<bool> FloatNormalization::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const bool changed,
                   Normalizer(module, context, {low_, high_}, Support(options_, low_)).Run());
  if (changed) {
    RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
    RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  }
  return changed;
}

// As HLO_DEFINE_PASS, for one class under several names.
MadePass MakeFloatNormalization(const OptionTexts& options, std::string_view name) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass,
                   internal::MakeWithOptions<FloatNormalization>(options, name));
  for (const TypePair& types : kTypePairs) {
    if (!name.ends_with(std::string("-") + std::string(Text(types.low)))) continue;
    static_cast<FloatNormalization&>(*pass).set_types(types.low, types.high);
    return pass;
  }
  return Internal("`{}` names no element type", name);
}
HLO_DEFINE_PASS_FACTS(FloatNormalization)

}  // namespace hlo
