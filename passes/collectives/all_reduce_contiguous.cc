#include "passes/collectives/all_reduce_contiguous.h"

#include <algorithm>

namespace hlo {

bool AllReduceContiguous::Matches(const Instruction& reduce) const {
  if (reduce.operand_count() < 2 || reduce.attrs<AllReduceAttrs>().constrain_layout ||
      reduce.shape().has_dynamic_dims())
    return false;
  const ElementType type = reduce.operand(0)->shape().element_type();
  for (int i = 0; i < reduce.operand_count(); ++i) {
    // In one layout, too: its elements are taken as they lie, and put where they lay.
    const Shape operand = reduce.operand(i)->shape().WithMissingLayoutsFilled();
    if (operand.element_type() != type ||
        operand != reduce.shape().element(i).WithMissingLayoutsFilled())
      return false;
  }
  return true;
}

absl::StatusOr<Instruction*> AllReduceContiguous::Expand(Instruction* reduce, Rewriter& rewriter) {
  const ElementType type = reduce->operand(0)->shape().element_type();
  const auto flat = [&](int64_t size) { return Shape::Array(type, {{size}}); };
  std::vector<Instruction*> parts;
  int64_t total = 0;
  for (Instruction* operand : reduce->operands()) {
    const int64_t size = operand->shape().element_count();
    parts.push_back(rewriter.Bitcast(operand, flat(size)));
    total += size;
  }
  Instruction* const all =
      rewriter.OpWithShape(Opcode::kAllReduce, flat(total), {rewriter.Concatenate(parts, 0)},
                           reduce->attrs_ptr(), {reduce->to_apply()});
  std::vector<Instruction*> results;
  int64_t start = 0;
  for (const Shape shape : reduce->shape().elements()) {
    const int64_t end = start + shape.element_count();
    results.push_back(rewriter.Bitcast(rewriter.Slice(all, {{start}}, {{end}}), shape));
    start = end;
  }
  return rewriter.Tuple(results);
}

HLO_DEFINE_PASS(AllReduceContiguous)

}  // namespace hlo
