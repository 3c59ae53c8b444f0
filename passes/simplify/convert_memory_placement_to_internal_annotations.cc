#include "passes/simplify/convert_memory_placement_to_internal_annotations.h"

#include <string>
#include <string_view>
#include <utility>

#include "lib/ir/builder.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/attrs.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr std::string_view kMoveToHost = "MoveToHost";

std::string_view TargetFor(std::string_view placement) {
  constexpr std::pair<std::string_view, std::string_view> kTargets[] = {
      {"pinned_host", kMoveToHost},
      {"unpinned_host", kMoveToHost},
      {"device", "MoveToDevice"},
      {"device_sram", "PinToDeviceSram"},
      {"pinned_device", "PinToDevice"}};
  for (const auto& [name, target] : kTargets) {
    if (name == placement) return target;
  }
  return "";
}

std::string_view TargetInsteadOf(const Instruction& instruction) {
  if (!IsCustomCall(instruction, "annotate_device_placement")) return "";
  return TargetFor(FrontendAttribute(instruction, "_xla_buffer_placement"));
}

void ReplaceBy(std::string_view target, Instruction* call) {
  Computation& computation = *call->parent();
  Instruction* const value = call->operand(0);
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(target);
  Instruction* const annotation = Builder(&computation)
                                      .OpWithShape(Opcode::kCustomCall, value->shape(), {value},
                                                   AttrsPtr::Make(std::move(attrs)));
  annotation->set_loc(call->loc());
  if (call->sharding() != nullptr) annotation->set_sharding(*call->sharding());
  computation.Replace(call, annotation);
}

}  // namespace

absl::StatusOr<bool> ConvertMemoryPlacementToInternalAnnotations::Run(Module& module,
                                                                      PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kCustomCall})) {
    for (Instruction* call : computation->PostOrder()) {
      const std::string_view target = TargetInsteadOf(*call);
      if (target.empty()) continue;
      if (target == kMoveToHost && call->operand_count() != 1) {
        return Error(call->loc(), "`{}` says where one value is to lie, but has {} operands",
                     call->name(), call->operand_count());
      }
      if (call->operand_count() == 0 || !Compatible(call->operand(0)->shape(), call->shape()) ||
          !context.MayRewrite())
        continue;
      context.Count("placements");
      context.Passed(*call, "becomes `{}`", target);
      ReplaceBy(target, call);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ConvertMemoryPlacementToInternalAnnotations)

}  // namespace hlo
