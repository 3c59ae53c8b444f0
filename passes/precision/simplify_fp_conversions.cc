#include "passes/precision/simplify_fp_conversions.h"

namespace hlo {
namespace {

bool ConvertsFloats(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert && !instruction.has_control_edges() &&
         IsFloat(instruction.shape().element_type()) &&
         IsFloat(instruction.operand(0)->shape().element_type());
}

// convert(convert(… x))  =>  convert(x), or x where the types agree
Instruction* ConvertOnce(Instruction* convert, Rewriter& rewriter) {
  if (!ConvertsFloats(*convert)) return nullptr;
  Instruction* source = convert->operand(0);
  while (ConvertsFloats(*source)) source = source->operand(0);
  if (source->shape().element_type() == convert->shape().element_type()) return source;
  return source == convert->operand(0) ? nullptr
                                       : rewriter.Convert(source, convert->shape().element_type());
}

constexpr Rule kConversionRules[] = {{"convert-once", Opcode::kConvert, kReassociate, ConvertOnce}};

}  // namespace

SimplifyFpConversions::SimplifyFpConversions() : RewritePass(this, kConversionRules) {}

HLO_DEFINE_PASS(SimplifyFpConversions)

}  // namespace hlo
