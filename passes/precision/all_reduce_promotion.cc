#include "passes/precision/all_reduce_promotion.h"

#include <optional>

#include "lib/analysis/region.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

std::optional<ElementType> TypeOfName(std::string_view name) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (IsArrayType(type) && Text(type) == name) return type;
  }
  return std::nullopt;
}

// The type that `type` is promoted to by a list of pairs.
std::optional<ElementType> PromotedType(std::string_view pairs, ElementType type) {
  for (const std::string_view pair : Split(pairs, ';')) {
    const size_t colon = pair.find(':');
    if (colon != std::string_view::npos && Trim(pair.substr(0, colon)) == Text(type))
      return TypeOfName(Trim(pair.substr(colon + 1)));
  }
  return std::nullopt;
}

}  // namespace

bool AllReducePromotion::Matches(const Instruction& instruction) const {
  if (options_.promote_all_reduce_only && instruction.opcode() != Opcode::kAllReduce) return false;
  return instruction.shape().IsArray() && instruction.operand_count() == 1 &&
         PromotedType(options_.types, instruction.shape().element_type()) &&
         CombinerOpcode(*instruction.to_apply());
}

absl::StatusOr<Instruction*> AllReducePromotion::Expand(Instruction* reduce, Rewriter& rewriter) {
  const ElementType narrow = reduce->shape().element_type();
  const ElementType wide = *PromotedType(options_.types, narrow);
  Computation* combiner =
      rewriter.module().AddComputation(fmt::format("{}_promoted", reduce->to_apply()->name()));
  Builder b(combiner);
  Instruction* x = b.Parameter(0, Shape::Scalar(wide), "x");
  Instruction* y = b.Parameter(1, Shape::Scalar(wide), "y");
  combiner->set_root(b.Op(*CombinerOpcode(*reduce->to_apply()), {x, y}));
  RETURN_IF_ERROR(b.status());
  rewriter.module().MoveToFront(combiner, reduce->parent());
  Instruction* result = rewriter.OpWithShape(
      reduce->opcode(), reduce->shape().WithElementType(wide),
      {rewriter.Convert(reduce->operand(0), wide)}, reduce->attrs_ptr(), {combiner});
  return rewriter.Convert(result, narrow);
}

HLO_DEFINE_PASS(AllReducePromotion)

}  // namespace hlo
