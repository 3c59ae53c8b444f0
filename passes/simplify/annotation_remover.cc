#include "passes/simplify/annotation_remover.h"

#include "lib/eval/custom_calls.h"

namespace hlo {
namespace {

// custom-call(x), custom_call_target="Sharding"  =>  x
Instruction* AnnotatedToPlain(Instruction* call, Rewriter&) {
  if (!IsIdentityCustomCall(call->attrs<CustomCallAttrs>().custom_call_target)) return nullptr;
  if (call->operand_count() == 0 || !Compatible(call->operand(0)->shape(), call->shape()))
    return nullptr;
  return call->operand(0);
}

constexpr Rule kAnnotationRules[] = {
    {"annotated-to-plain", Opcode::kCustomCall, kExact, AnnotatedToPlain}};

}  // namespace

AnnotationRemover::AnnotationRemover() : RewritePass(this, kAnnotationRules) {}

HLO_DEFINE_PASS(AnnotationRemover)

}  // namespace hlo
