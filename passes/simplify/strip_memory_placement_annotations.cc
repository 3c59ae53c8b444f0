#include "passes/simplify/strip_memory_placement_annotations.h"

#include "lib/support/contains.h"

namespace hlo {
namespace {

constexpr std::string_view kPlacements[] = {"MoveToHost", "MoveToDevice",
                                            "annotate_device_placement"};

// custom-call(x), custom_call_target="MoveToHost"  =>  x
Instruction* PlacedToPlain(Instruction* call, Rewriter&) {
  if (!Contains(kPlacements, call->attrs<CustomCallAttrs>().custom_call_target)) return nullptr;
  if (call->operand_count() != 1 || !Compatible(call->operand(0)->shape(), call->shape()))
    return nullptr;
  // What the call says of itself is the place, which nothing else takes over.
  call->mutable_extras().frontend_attributes.clear();
  return call->operand(0);
}

constexpr Rule kPlacementRules[] = {
    {"placed-to-plain", Opcode::kCustomCall, kExact, PlacedToPlain}};

}  // namespace

StripMemoryPlacementAnnotations::StripMemoryPlacementAnnotations()
    : RewritePass(this, kPlacementRules) {}

HLO_DEFINE_PASS(StripMemoryPlacementAnnotations)

}  // namespace hlo
