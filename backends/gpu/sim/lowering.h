// backends/gpu/sim/lowering.h
//
// Turns kernels as the emitters write them (LLVM IR with NVVM intrinsics) into code for this
// processor: thread and block numbers are read from a SimThread, shared variables become offsets
// into the block's shared memory, barriers, shuffles and votes become calls of the engine. When
// asked to watch, every access of global or shared memory calls the engine first. The arithmetic
// stays as it is.
//
// Each kernel gets an entry `<name>.entry` of type SimEntry. Internal to the simulator: includes
// LLVM headers.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/sim/engine.h"

namespace hlo::gpu {

struct LoweringOptions {
  bool sanitize = false;
};

// Lowers `kernels` of `module` in place; gives what the engine must know of each.
absl::StatusOr<std::vector<SimKernelInfo>> LowerForSimulator(llvm::Module& module,
                                                             absl::Span<const KernelEntry> kernels,
                                                             const LoweringOptions& options);

}  // namespace hlo::gpu
