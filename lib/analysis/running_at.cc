#include "lib/analysis/running_at.h"

namespace hlo {

const Instruction* InstructionAt(int time, const Values& values, const LiveRanges& ranges) {
  const Instruction* running = nullptr;
  for (const ProgramStep& step : values.order()) {
    if (step.kind != ProgramStep::Kind::kVisit && step.kind != ProgramStep::Kind::kBegin) continue;
    if (running != nullptr && ranges.TimeOf(*step.instruction) > time) break;
    running = step.instruction;
  }
  return running;
}

}  // namespace hlo
