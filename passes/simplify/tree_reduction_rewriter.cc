#include "passes/simplify/tree_reduction_rewriter.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "lib/support/round.h"

namespace hlo {

bool TreeReductionRewriter::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 || options_.reduce_window_size < 2) return false;
  const Shape shape = instruction.operand(0)->shape();
  if (shape.has_dynamic_dims() || shape.IsZeroSized()) return false;
  const DimVec& dims = instruction.attrs<ReduceAttrs>().dimensions;
  if (absl::c_none_of(dims, [&](int64_t dim) {
        return shape.dim(static_cast<int>(dim)) > options_.reduce_window_size;
      }))
    return false;
  return MayStartAgain(instruction);
}

absl::StatusOr<Instruction*> TreeReductionRewriter::Expand(Instruction* reduce,
                                                           Rewriter& rewriter) {
  Instruction* x = reduce->operand(0);
  ReduceWindowAttrs attrs;
  attrs.window.dims.resize(static_cast<size_t>(x->shape().rank()));
  for (int64_t dim : reduce->attrs<ReduceAttrs>().dimensions) {
    const int64_t size = x->shape().dim(static_cast<int>(dim));
    const int64_t window = std::min(size, options_.reduce_window_size.value);
    const int64_t padding = RoundUp(size, window) - size;
    WindowDim& at = attrs.window.dims[static_cast<size_t>(dim)];
    at.size = window;
    at.stride = window;
    at.pad_low = padding / 2;
    at.pad_high = padding - padding / 2;
  }
  Instruction* windows = rewriter.Op(Opcode::kReduceWindow, {x, reduce->operand(1)},
                                     AttrsPtr::Make(std::move(attrs)), {reduce->to_apply()});
  return rewriter.OpWithShape(Opcode::kReduce, reduce->shape(), {windows, reduce->operand(1)},
                              reduce->attrs_ptr(), {reduce->to_apply()});
}

HLO_DEFINE_PASS(TreeReductionRewriter)

}  // namespace hlo
