#include "passes/precision/result_caster.h"

#include "lib/eval/contraction.h"
#include "passes/precision/operand_upcaster.h"
#include "passes/util/library_product.h"
#include "passes/util/same_kind.h"

namespace hlo {

bool ResultCaster::Matches(const Instruction& instruction) const {
  if (options_.leave_library_products && IsLibraryProduct(instruction)) return false;
  const ElementType natural = NaturalResultType(instruction);
  const ElementType result = instruction.shape().element_type();
  if (ProductType(instruction) != result) return true;
  return !options_.other_kinds_only &&
         AreSameKind(instruction.operand(0)->shape().element_type(),
                     instruction.operand(1)->shape().element_type()) &&
         AreSameKind(natural, result) && BitWidth(result) < BitWidth(natural);
}

absl::StatusOr<Instruction*> ResultCaster::Expand(Instruction* instruction, Rewriter& rewriter) {
  const ElementType other = ProductType(*instruction);
  const ElementType type =
      other != instruction->shape().element_type() ? other : NaturalResultType(*instruction);
  Instruction* product =
      rewriter.OpWithShape(instruction->opcode(), instruction->shape().WithElementType(type),
                           instruction->operand_vector(), instruction->attrs_ptr());
  PassOnWork(*instruction, product);
  return rewriter.Convert(product, instruction->shape().element_type());
}

HLO_DEFINE_PASS(ResultCaster)

}  // namespace hlo
