#include "passes/precision/simplify_fp_conversions.h"

namespace hlo {
namespace {

bool ConvertsToFloat(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert && !instruction.has_control_edges() &&
         IsFloat(instruction.shape().element_type());
}

// convert(convert(… x))  =>  convert(x), or x where the types agree
Instruction* ConvertOnce(Instruction* convert, Rewriter& rewriter) {
  if (!ConvertsToFloat(*convert) || !ConvertsToFloat(*convert->operand(0))) return nullptr;
  Instruction* source = convert->operand(0);
  while (ConvertsToFloat(*source)) source = source->operand(0);
  if (source->shape().element_type() == convert->shape().element_type()) return source;
  return rewriter.OpWithShape(Opcode::kConvert, convert->shape(), {source});
}

constexpr Rule kConversionRules[] = {{"convert-once", Opcode::kConvert, kReassociate, ConvertOnce}};

}  // namespace

SimplifyFpConversions::SimplifyFpConversions() : RewritePass(this, kConversionRules) {}

HLO_DEFINE_PASS(SimplifyFpConversions)

}  // namespace hlo
