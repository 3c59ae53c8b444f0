#include "passes/precision/result_caster.h"

#include "lib/eval/contraction.h"
#include "lib/ops/shape_helpers.h"
#include "passes/precision/operand_upcaster.h"
#include "passes/util/library_product.h"

namespace hlo {

bool ResultCaster::Matches(const Instruction& instruction) const {
  if (options_.leave_library_products && IsLibraryProduct(instruction)) return false;
  const ElementType result = instruction.shape().element_type();
  if (options_.other_kinds_only) return ProductType(instruction) != result;
  const ElementType natural = NaturalResultType(instruction);
  return natural != result && HigherPrecision(natural, result) == natural;
}

absl::StatusOr<Instruction*> ResultCaster::Expand(Instruction* instruction, Rewriter& rewriter) {
  const ElementType type =
      options_.other_kinds_only ? ProductType(*instruction) : NaturalResultType(*instruction);
  Instruction* product =
      rewriter.OpWithShape(instruction->opcode(), instruction->shape().WithElementType(type),
                           instruction->operand_vector(), instruction->attrs_ptr());
  PassOnWork(*instruction, product);
  return rewriter.Convert(product, instruction->shape().element_type());
}

HLO_DEFINE_PASS(ResultCaster)

}  // namespace hlo
