#include "passes/simplify/convert_memory_placement_to_internal_annotations.h"

#include "lib/ir/builder.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

struct Placement {
  std::string_view attribute;
  std::string_view target;
};
constexpr Placement kTargets[] = {{"pinned_host", "MoveToHost"},
                                  {"unpinned_host", "MoveToHost"},
                                  {"device", "MoveToDevice"},
                                  {"device_sram", "PinToDeviceSram"},
                                  {"pinned_device", "PinToDevice"}};

// The custom call that says what `call` asks for; empty if it asks for nothing that is known.
std::string_view TargetFor(const Instruction& call) {
  if (call.opcode() != Opcode::kCustomCall ||
      call.attrs<CustomCallAttrs>().custom_call_target != "annotate_device_placement" ||
      call.operand_count() != 1 || !Compatible(call.shape(), call.operand(0)->shape()) ||
      call.has_control_edges())
    return "";
  const std::string_view asked = FrontendAttribute(call, "_xla_buffer_placement");
  for (const Placement& placement : kTargets) {
    if (placement.attribute == asked) return placement.target;
  }
  return "";
}

}  // namespace

absl::StatusOr<bool> ConvertMemoryPlacementToInternalAnnotations::Run(Module& module,
                                                                      PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kCustomCall})) {
    for (Instruction* call : computation->PostOrder()) {
      const std::string_view target = TargetFor(*call);
      if (target.empty()) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*call, "becomes {}", target);
      Builder builder(computation);
      builder.set_origin(call);
      CustomCallAttrs attrs;
      attrs.custom_call_target = std::string(target);
      Instruction* const placed =
          builder.OpWithShape(Opcode::kCustomCall, call->operand(0)->shape(), {call->operand(0)},
                              AttrsPtr::Make(std::move(attrs)));
      RETURN_IF_ERROR(builder.status());
      if (call->sharding() != nullptr) placed->mutable_extras().sharding = *call->sharding();
      computation->Replace(call, placed);
      context.Count("converted");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ConvertMemoryPlacementToInternalAnnotations)

}  // namespace hlo
