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

// (f32[4], s32[]) custom-call(x, y), custom_call_target="__xla_internal_call_marker_before"
//   =>  tuple(x, y); where the one operand has the shape of the call, the operand
// The same of markers of Shardy.
Instruction* MarkerToOperands(Instruction* call, Rewriter& rewriter) {
  const std::string_view target = call->attrs<CustomCallAttrs>().custom_call_target;
  if (!IsCallMarker(target) && !IsIdentityCustomCall(target)) return nullptr;
  if (call->operand_count() == 1 && Compatible(call->operand(0)->shape(), call->shape()))
    return call->operand(0);
  if (!Compatible(Shape::Tuple(call->operand_shapes()), call->shape())) return nullptr;
  return rewriter.Tuple(call->operand_vector());
}

constexpr Rule kAnnotationRules[] = {
    {"annotated-to-plain", Opcode::kCustomCall, kExact, AnnotatedToPlain},
    {"marker-to-operands", Opcode::kCustomCall, kExact, MarkerToOperands}};

}  // namespace

AnnotationRemover::AnnotationRemover() : RewritePass(this, kAnnotationRules) {}

HLO_DEFINE_PASS(AnnotationRemover)

}  // namespace hlo
