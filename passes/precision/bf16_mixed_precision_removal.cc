#include "passes/precision/bf16_mixed_precision_removal.h"

#include <algorithm>
#include <iterator>

#include "lib/analysis/side_effects.h"
#include "lib/ir/async_chain.h"
#include "lib/support/contains.h"
#include "passes/precision/holds_type.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr ElementType kLow = ElementType::kBF16;
constexpr ElementType kHigh = ElementType::kF32;

constexpr Opcode kKeptMixed[] = {Opcode::kTuple,          Opcode::kGetTupleElement,
                                 Opcode::kConstant,       Opcode::kDomain,
                                 Opcode::kParameter,      Opcode::kFusion,
                                 Opcode::kConvert,        Opcode::kStochasticConvert,
                                 Opcode::kCall,           Opcode::kCustomCall,
                                 Opcode::kWhile,          Opcode::kConditional,
                                 Opcode::kBitcast,        Opcode::kAsyncUpdate,
                                 Opcode::kBitcastConvert, Opcode::kOptimizationBarrier,
                                 Opcode::kScaledDot};

// More precision in an operand than in the result is of no use.
constexpr Opcode kPickValues[] = {
    Opcode::kAbs,         Opcode::kAllGather, Opcode::kAllToAll, Opcode::kBroadcast,
    Opcode::kClamp,       Opcode::kCopy,      Opcode::kMaximum,  Opcode::kCollectiveBroadcast,
    Opcode::kConcatenate, Opcode::kMinimum,   Opcode::kPad,      Opcode::kCollectivePermute,
    Opcode::kReshape,     Opcode::kReverse,   Opcode::kSlice,    Opcode::kTranspose};

bool IsKeptMixed(Opcode opcode) {
  return Contains(kKeptMixed, opcode) || HasTrait(opcode, kAsyncStart) ||
         HasTrait(opcode, kAsyncDone);
}

bool IsMixed(const Instruction& instruction) {
  bool low = HoldsType(instruction.shape(), kLow);
  bool high = HoldsType(instruction.shape(), kHigh);
  for (const Instruction* operand : instruction.operands()) {
    low |= HoldsType(operand->shape(), kLow);
    high |= HoldsType(operand->shape(), kHigh);
  }
  return low && high;
}

bool NeedsOnlyResultPrecision(const Instruction& instruction, int operand) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather) return operand == 0;
  if (opcode == Opcode::kDynamicUpdateSlice) return operand <= 1;
  if (opcode == Opcode::kSelect) return operand >= 1;
  return Contains(kPickValues, opcode);
}

bool CanLower(const Instruction& instruction) {
  if (instruction.call_count() != 0 || HoldsType(instruction.shape(), kHigh)) return false;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    if (instruction.operand(i)->shape().element_type() == kHigh &&
        !NeedsOnlyResultPrecision(instruction, i))
      return false;
  }
  return true;
}

Shape WithHighLeaves(Shape shape) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      shape = shape.WithElement(i, WithHighLeaves(shape.element(i)));
    return shape;
  }
  return shape.element_type() == kLow ? shape.WithElementType(kHigh) : shape;
}

// `value` with its leaves converted to those of `shape`.
Instruction* ConvertTree(Instruction* value, Shape shape, Builder& builder) {
  if (Compatible(value->shape(), shape)) return value;
  if (!shape.IsTuple()) return builder.Convert(value, shape.element_type());
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(ConvertTree(builder.GetTupleElement(value, i), shape.element(i), builder));
  return builder.Tuple(elements);
}

// A copy of `from` with f32 parameters and result that rounds to bf16 inside.
absl::StatusOr<Computation*> HighCopy(const Computation& from) {
  Module& module = from.module();
  Computation* copy = module.CloneComputation(from, ".high", /*deep=*/false);
  Builder builder(copy);
  for (int i = 0; i < copy->parameter_count(); ++i) {
    Instruction* parameter = copy->parameter(i);
    const Shape low = parameter->shape();
    if (!HoldsType(low, kLow)) continue;
    const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
    const bool was_root = parameter->is_root();
    parameter->set_shape(WithHighLeaves(low));
    Instruction* rounded = ConvertTree(parameter, low, builder);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, rounded);
    if (was_root) copy->set_root(rounded);
  }
  copy->set_root(ConvertTree(copy->root(), WithHighLeaves(copy->root()->shape()), builder));
  RETURN_IF_ERROR(builder.status());
  return copy;
}

class Remover {
 public:
  Remover(Module& module, PassContext& context)
      : module_(module), context_(context), effects_(context.analyses().Get<SideEffects>(module)) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Computation* computation : context_.NonFusionComputations(module_)) {
      if (IsAsyncBody(*computation)) continue;  // has no place for conversions
      for (Instruction* instruction : computation->PostOrder()) {
        if (IsKeptMixed(instruction->opcode()) || !IsMixed(*instruction)) continue;
        if (effects_.Of(*instruction) ||
            (HasTrait(instruction->opcode(), kCollective) && instruction->call_count() > 0)) {
          context_.Missed(*instruction,
                          "bf16 and f32 meet in an operation that talks to other devices");
          continue;
        }
        if (!context_.MayRewrite()) return changed;
        RETURN_IF_ERROR(CanLower(*instruction) ? Lower(instruction) : Raise(instruction));
        changed = true;
      }
    }
    return changed;
  }

 private:
  absl::Status ConvertOperands(Instruction* instruction, ElementType from, ElementType to,
                               Builder& builder) {
    for (int i = 0; i < instruction->operand_count(); ++i) {
      Instruction* operand = instruction->operand(i);
      if (!operand->shape().IsArray() || operand->shape().element_type() != from) continue;
      Instruction* converted = nullptr;  // the same operand twice is converted once
      for (int k = 0; k < i; ++k) {
        Instruction* earlier = instruction->operand(k);
        if (earlier->opcode() == Opcode::kConvert && earlier->operand(0) == operand &&
            earlier->shape().element_type() == to)
          converted = earlier;
      }
      if (converted == nullptr) converted = builder.Convert(operand, to);
      instruction->ReplaceOperand(i, converted);
    }
    return builder.status();
  }

  absl::Status Lower(Instruction* instruction) {
    Builder builder(instruction);
    context_.Count("lowered to bf16");
    context_.Passed(*instruction, "now in bf16");
    return ConvertOperands(instruction, kHigh, kLow, builder);
  }

  absl::Status Raise(Instruction* instruction) {
    Computation& computation = *instruction->parent();
    Builder builder(&computation, instruction);
    context_.Count("raised to f32");
    context_.Passed(*instruction, "now in f32");
    RETURN_IF_ERROR(ConvertOperands(instruction, kLow, kHigh, builder));
    for (int i = 0; i < instruction->call_count(); ++i) {
      ASSIGN_OR_RETURN(Computation* const high, HighCopy(*instruction->call(i)));
      module_.MoveToFront(high, &computation);
      instruction->SetCall(i, high);
    }
    const Shape low = instruction->shape();
    if (!HoldsType(low, kLow)) return absl::OkStatus();
    const std::vector<Use> uses(instruction->uses().begin(), instruction->uses().end());
    const bool was_root = instruction->is_root();
    instruction->set_shape(WithHighLeaves(low));
    Instruction* rounded = ConvertTree(instruction, low, builder);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, rounded);
    if (was_root) computation.set_root(rounded);
    return builder.status();
  }

  Module& module_;
  PassContext& context_;
  SideEffects& effects_;
};

}  // namespace

absl::StatusOr<bool> Bf16MixedPrecisionRemoval::Run(Module& module, PassContext& context) {
  return Remover(module, context).Run();
}

HLO_DEFINE_PASS(Bf16MixedPrecisionRemoval)

}  // namespace hlo
