#include "backends/gpu/emit/core/kernel_plan.h"

namespace hlo::gpu {

int LateIntegers(PlanStep::Late late) {
  switch (late) {
    case PlanStep::Late::kNone: return 0;
    case PlanStep::Late::kDraw:
    case PlanStep::Late::kCounter: return 2;
    case PlanStep::Late::kReplicaId:
    case PlanStep::Late::kPartitionId:
    case PlanStep::Late::kTrips: return 1;
  }
  return 0;
}

}  // namespace hlo::gpu
