// From a module after the passes to what runs: kernels, thunks, memory.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/compiled_executable.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/library/product_library.h"
#include "lib/ir/module.h"

namespace hlo::gpu {

class KernelTuner;  // kernel_tuner.h

struct Program : CompiledProgram {
  std::vector<UniqueKernel> kernels;
  std::vector<DeviceCode> given;                   // one kernel each, as the module has it
  int graphs = 0;                                  // GraphThunk numbers
  int counters = 0;                                // of rng-get-and-update-state
  uint64_t seed = 0;                               // of rng
  bool overlap = false;                            // GpuOptions::overlap
  std::shared_ptr<const ProductLibrary> products;  // of the plans in the thunks
};

// Emits every instruction of the entry and of what it runs. What no kernel family takes is refused,
// all such places of the module at once. `library` is called when a product is large enough for
// one; null, or where it gives none: all products are kernels. `tuner`, if there is one, chooses
// among the ways that kernels have to do the same.
using MakeLibrary = std::function<std::shared_ptr<const ProductLibrary>()>;
absl::StatusOr<Program> EmitProgram(Module& module, const CompileOptions& options,
                                    const MakeLibrary& library = nullptr,
                                    KernelTuner* tuner = nullptr);

}  // namespace hlo::gpu
