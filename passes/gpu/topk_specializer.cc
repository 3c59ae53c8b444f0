#include "passes/gpu/topk_specializer.h"

#include "lib/eval/topk.h"
#include "passes/util/topk_order.h"

namespace hlo {
namespace {

constexpr int64_t kMostWanted = 16, kShortestRow = 1024;

}  // namespace

bool TopkSpecializer::Matches(const Instruction& topk) const {
  if (!IsTopk(topk) || !TakesLargest(topk)) return false;
  const Shape x = topk.operand(0)->shape(), values = topk.shape().element(0);
  const ElementType type = x.element_type();
  return (type == ElementType::kF32 || type == ElementType::kBF16) &&
         (x.rank() == 1 || x.rank() == 2) && values.rank() == x.rank() &&
         x.dims().back() >= kShortestRow && values.dims().back() <= kMostWanted;
}

absl::StatusOr<Instruction*> TopkSpecializer::Expand(Instruction* topk, Rewriter& rewriter) {
  CustomCallAttrs attrs = topk->attrs<CustomCallAttrs>();
  attrs.custom_call_target = std::string("__gpu$TopK");
  attrs.api_version = ApiVersion::kTypedFfi;
  return rewriter.OpWithShape(Opcode::kCustomCall, topk->shape(), topk->operand_vector(),
                              AttrsPtr::Make(std::move(attrs)), topk->calls());
}

HLO_DEFINE_PASS(TopkSpecializer)

}  // namespace hlo
