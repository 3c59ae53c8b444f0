// The kernels of fusions, before buffers are known: what no kernel family takes as it is, is undone,
// and its instructions become kernels of their own.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/cpu/families/family.h"
#include "lib/ir/module.h"

namespace hlo::cpu {

using KernelPlans = absl::flat_hash_map<const Instruction*, KernelPlan>;

// A plan for every fusion that is left; no operand shares a buffer with a result yet.
absl::StatusOr<KernelPlans> PlanFusions(Module& module, const FamilyOptions& options);

}  // namespace hlo::cpu
