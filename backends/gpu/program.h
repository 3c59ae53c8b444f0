// From a module after the passes to what runs: kernels, thunks, memory.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/codegen/compiled_executable.h"
#include "backends/gpu/device/device.h"
#include "lib/ir/module.h"

namespace hlo::gpu {

struct Program : CompiledProgram {
  std::vector<UniqueKernel> kernels;
  int counters = 0;   // of rng-get-and-update-state
  uint64_t seed = 0;  // of rng
};

// Emits every instruction of the entry and of what it runs. What no kernel family takes is refused,
// all such places of the module at once.
absl::StatusOr<Program> EmitProgram(Module& module, const CompileOptions& options);

}  // namespace hlo::gpu
