#include "passes/fusion/fusion_wrapper.h"

#include "passes/fusion/fuse.h"

namespace hlo {
namespace {

constexpr OpcodeSet kLoops = {Opcode::kBroadcast,    Opcode::kBitcastConvert, Opcode::kDynamicSlice,
                              Opcode::kGather,       Opcode::kIota,           Opcode::kMap,
                              Opcode::kPad,          Opcode::kReduce,         Opcode::kReshape,
                              Opcode::kReduceWindow, Opcode::kReverse,        Opcode::kScatter,
                              Opcode::kSlice};
// Elementwise, but no loop of its own.
constexpr OpcodeSet kNoLoops = {Opcode::kCopy, Opcode::kRng, Opcode::kOptimizationBarrier};

bool IsLoop(const Instruction& instruction) {
  if (instruction.HasSideEffect() || kNoLoops.Has(instruction.opcode())) return false;
  return kLoops.Has(instruction.opcode()) ||
         (IsElementwise(instruction.opcode()) && instruction.operand_count() > 0);
}

// Regions are what others do with elements; the back end runs them as they are.
bool IsRegion(const Computation& computation) {
  static constexpr OpcodeSet kRunsCallees = {Opcode::kCall, Opcode::kWhile, Opcode::kConditional,
                                             Opcode::kAsyncStart};
  return absl::c_any_of(computation.callers(), [](const CallSite& site) {
    return !kRunsCallees.Has(site.caller->opcode());
  });
}

}  // namespace

absl::StatusOr<bool> FusionWrapper::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (IsRegion(*computation)) continue;
    for (Instruction* instruction : computation->PostOrder()) {
      if (!IsLoop(*instruction) || !instruction->is_used()) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*instruction, "alone in its kernel");
      context.Count("wrapped");
      Fuse({instruction}, {.name = fmt::format("wrapped_{}", instruction->opcode_text())});
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(FusionWrapper)

}  // namespace hlo
