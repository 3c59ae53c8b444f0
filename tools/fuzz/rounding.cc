#include "tools/fuzz/rounding.h"

#include <algorithm>

#include "lib/ir/computation.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

constexpr OpcodeSet kChooses = {Opcode::kParameter, Opcode::kConstant, Opcode::kMaximum,
                                Opcode::kMinimum,   Opcode::kAnd,      Opcode::kOr,
                                Opcode::kCompare,   Opcode::kSelect,   Opcode::kTuple};
// NaNs with either sign have a place in the order of top-k.
constexpr OpcodeSet kReadsBits = {Opcode::kBitcastConvert, Opcode::kTopK};
// Sums in an order of their own, by their region and always.
constexpr OpcodeSet kSumsByRegion = {Opcode::kReduce,    Opcode::kReduceWindow,
                                     Opcode::kScan,      Opcode::kScatter,
                                     Opcode::kAllReduce, Opcode::kReduceScatter};
constexpr OpcodeSet kSums = {Opcode::kSelectAndScatter,  Opcode::kDot,
                             Opcode::kScaledDot,         Opcode::kRaggedDot,
                             Opcode::kConvolution,       Opcode::kFft,
                             Opcode::kCholesky,          Opcode::kTriangularSolve,
                             Opcode::kBatchNormGrad,     Opcode::kBatchNormInference,
                             Opcode::kBatchNormTraining, Opcode::kCustomCall};
// Elementwise, and rounded in no way or in one way only.
constexpr OpcodeSet kExactOpcodes = {
    Opcode::kAbs,    Opcode::kNegate,  Opcode::kSign,    Opcode::kMaximum, Opcode::kMinimum,
    Opcode::kSelect, Opcode::kClamp,   Opcode::kConvert, Opcode::kCopy,    Opcode::kReal,
    Opcode::kImag,   Opcode::kComplex, Opcode::kFloor,   Opcode::kCeil};

bool OnlyChooses(const Computation& region) {
  for (const Instruction* instruction : region.instructions()) {
    if (!kChooses.Has(instruction->opcode())) return false;
  }
  return true;
}

}  // namespace

bool MayChooseNan(const Instruction& instruction) {
  constexpr OpcodeSet kChoosesNumbers = {Opcode::kMaximum, Opcode::kMinimum, Opcode::kClamp};
  return kChoosesNumbers.Has(instruction.opcode()) || kSumsByRegion.Has(instruction.opcode());
}

bool ChoosesByRegion(const Instruction& instruction) {
  return kSumsByRegion.Has(instruction.opcode()) && OnlyChooses(*instruction.call(0));
}

bool MayRoundOtherwise(const Instruction& instruction) {
  if (kSumsByRegion.Has(instruction.opcode())) return !OnlyChooses(*instruction.call(0));
  return kSums.Has(instruction.opcode());
}

bool IsArithmetic(const Instruction& instruction) {
  if (!instruction.shape().IsArray() || !IsFloat(ComponentType(instruction.shape().element_type())))
    return false;
  // Of complex numbers they are a root and a quotient.
  constexpr OpcodeSet kRoundedOfComplex = {Opcode::kAbs, Opcode::kSign};
  if (kRoundedOfComplex.Has(instruction.opcode()) &&
      IsComplex(instruction.operand(0)->shape().element_type()))
    return true;
  // Passes may leave out conversions there and back.
  if (instruction.opcode() == Opcode::kConvert) {
    const ElementType from = instruction.operand(0)->shape().element_type();
    return IsFloat(from) && BitWidth(instruction.shape().element_type()) < BitWidth(from);
  }
  return IsElementwise(instruction.opcode()) && !kExactOpcodes.Has(instruction.opcode());
}

bool LooksAtBits(const Instruction& instruction) {
  if (kReadsBits.Has(instruction.opcode())) return true;
  return IsCustomCall(instruction, "TopK") ||
         (instruction.opcode() == Opcode::kCompare &&
          instruction.attrs<CompareAttrs>().type == ComparisonType::kTotalOrder);
}

bool IsScale(const Instruction& instruction) {
  return instruction.shape().IsArray() &&
         instruction.shape().element_type() == ElementType::kF8E8M0FNU;
}

bool CutsBits(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBitcastConvert &&
         BitWidth(instruction.shape().element_type()) <
             BitWidth(instruction.operand(0)->shape().element_type());
}

bool SeesPadding(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConvolution || instruction.operand_count() != 2 ||
      instruction.operand(0)->shape().has_dynamic_dims())
    return false;
  const Window& window = instruction.attrs<ConvolutionAttrs>().window;
  return std::any_of(window.dims.begin(), window.dims.end(), [](const WindowDim& dim) {
    return dim.pad_low > 0 || dim.pad_high > 0 || dim.base_dilation > 1;
  });
}

bool IsStatistics(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBatchNormTraining ||
         instruction.opcode() == Opcode::kBatchNormGrad;
}

}  // namespace hlo
