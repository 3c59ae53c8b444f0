#include "passes/precision/reduction_widener.h"

#include "lib/eval/wide_region.h"

namespace hlo {
namespace {

// reduce(x, z)  =>  convert(reduce(convert(x), convert(z)))
Instruction* WidenReduce(Instruction* reduce, Rewriter& rewriter) {
  if (!HasWideRegion(*reduce)) return nullptr;
  Computation* wide = AddWideRegion(rewriter.module(), *reduce->to_apply());
  rewriter.module().MoveToFront(wide, reduce->parent());
  Instruction* x = rewriter.Convert(reduce->operand(0), ElementType::kF32);
  Instruction* z = rewriter.Convert(reduce->operand(1), ElementType::kF32);
  Instruction* result = rewriter.Reduce(x, z, reduce->attrs<ReduceAttrs>().dimensions, wide);
  return rewriter.Convert(result, reduce->shape().element_type());
}

constexpr Rule kReductionWidenerRules[] = {
    {"wide-region", Opcode::kReduce, kExact, WidenReduce},
};

}  // namespace

ReductionWidener::ReductionWidener() : RewritePass(this, kReductionWidenerRules) {}

HLO_DEFINE_PASS(ReductionWidener)

}  // namespace hlo
