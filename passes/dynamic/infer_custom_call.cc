// Sizes of custom calls that mean something here; the others take and make what the padder is told
// they do (`DynamismSupport`).
#include "lib/analysis/leaves.h"
#include "lib/eval/custom_calls.h"
#include "passes/dynamic/dynamic_calls.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

absl::Status InferSliceToDynamic(SizeInference& in, Instruction* call) {
  const Shape shape = call->shape();
  if (!shape.IsArray() || call->operand_count() != shape.rank() + 1 ||
      !Compatible(shape.WithoutDynamic(), call->operand(0)->shape().WithoutDynamic()))
    return absl::OkStatus();
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (!call->operand(dim + 1)->shape().IsScalarOf(ElementType::kS32)) return absl::OkStatus();
  }
  // What keeps the array dynamic keeps the call.
  if (!in.IsNeeded(*call, 0)) return absl::OkStatus();
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape.is_dynamic(dim)) in.Note(call, 0, dim, call->operand(dim + 1));
  }
  return absl::OkStatus();
}

// Of images by rows of batches: sizes of batches and features stay.
bool KeepsDimensionOfImage(std::string_view target, int64_t dim) {
  return target.starts_with("Resize") && (dim == 0 || dim == 3);
}

absl::Status InferKept(SizeInference& in, Instruction* call, std::string_view target) {
  for (const OperandSize& known : in.OperandSizes(*call)) {
    const Shape from = call->operand(known.operand)->shape().WithoutDynamic();
    const bool is_kept =
        (IsIdentityCustomCall(target) && Compatible(from, call->shape().WithoutDynamic())) ||
        (KeepsDimensionOfImage(target, known.dim) && call->shape().IsArray() &&
         call->shape().rank() == from.rank());
    if (!is_kept || known.operand != 0) {
      return Unsupported(call->loc(), "custom call `{}` has no meaning for dynamic dimensions",
                         target);
    }
    in.Set(call, known.leaf, known.dim, known.size);
  }
  return in.PadToStatic(call);  // what nothing is known of is the call's to say
}

}  // namespace

absl::Status InferCustomCall(SizeInference& in, Instruction* call) {
  const std::string target(call->attrs<CustomCallAttrs>().custom_call_target);
  if (target == "PadToStatic") return absl::OkStatus();
  if (in.Support(*call) != DynamismSupport::kNone) return in.PadToStatic(call);
  if (target == "SliceToDynamic") return InferSliceToDynamic(in, call);
  if (const DynamicCallRules* rules = DynamicCallRulesFor(target)) return rules->infer(in, call);
  if (in.OperandSizes(*call).empty()) return in.PadToStatic(call);
  return InferKept(in, call, target);
}

}  // namespace hlo
