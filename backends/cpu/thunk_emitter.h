// From a module (fused, flattened) to thunks: emits every kernel, assigns buffers, compiles the
// kernels on all threads, and lines the thunks up in program order.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/common/buffer_assignment.h"
#include "backends/common/thunk.h"
#include "backends/cpu/library_thunks.h"
#include "backends/llvm/jit.h"
#include "lib/ir/module.h"

namespace hlo::cpu {

struct Program {
  std::unique_ptr<BufferAssignment> buffers;
  ThunkList thunks;
  std::vector<std::unique_ptr<CompiledCode>> code;
  int64_t scratch_bytes = 0;
  bool tracks_states = false;  // its thunks run in a TrackingContext (memory_states.h)
  int kernels = 0;             // kernels in the program
  int unique_kernels = 0;      // compiled
};

// Undoes fusions that no kernel family takes (kernel_planner.h) before it emits the others. Up to
// ten instructions that the platform cannot compile are named in one kUnimplemented error. `jit` may
// be null when kernels are not compiled (CpuKernels::kEvaluate).
absl::StatusOr<Program> EmitProgram(Module& module, const Jit* jit, ThreadPool& pool,
                                    const LibraryOptions& library, const CompileOptions& options);

}  // namespace hlo::cpu
