// From a module (fused, flattened) to thunks: emits every kernel, assigns buffers, compiles the
// kernels on all threads, and lines the thunks up in program order.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/codegen/compiled_executable.h"
#include "backends/cpu/kernel_compiler.h"
#include "backends/cpu/library_thunks.h"
#include "lib/ir/module.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

struct Program : CompiledProgram {
  std::vector<std::unique_ptr<CompiledCode>> code;
  int kernel_states = 0;       // of CpuState::kernels
  bool tracks_states = false;  // its thunks run in a TrackingState (memory_states.h)
};

// Kernels are emitted on the threads of `pool`.
absl::StatusOr<Program> EmitProgram(Module& module, KernelCompiler& compiler, ThreadPool& pool,
                                    const LibraryOptions& library, const CompileOptions& options);

}  // namespace hlo::cpu
