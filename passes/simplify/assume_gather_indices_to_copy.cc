#include "passes/simplify/assume_gather_indices_to_copy.h"

namespace hlo {
namespace {

// custom-call(x), custom_call_target="AssumeGatherIndicesInBound"  =>  copy(x)
Instruction* PromiseToCopy(Instruction* call, Rewriter& rewriter) {
  const std::string_view target = call->attrs<CustomCallAttrs>().custom_call_target;
  if (target != "AssumeGatherIndicesInBound" && target != "GatherScatterIndicesBitpacked")
    return nullptr;
  if (call->operand_count() == 0 || !Compatible(call->operand(0)->shape(), call->shape()))
    return nullptr;
  return rewriter.OpWithShape(Opcode::kCopy, call->shape(), {call->operand(0)});
}

constexpr Rule kPromiseRules[] = {{"promise-to-copy", Opcode::kCustomCall, kExact, PromiseToCopy}};

}  // namespace

AssumeGatherIndicesToCopy::AssumeGatherIndicesToCopy() : RewritePass(this, kPromiseRules) {}

HLO_DEFINE_PASS(AssumeGatherIndicesToCopy)

}  // namespace hlo
