// backends/cpu/kernel_compiler.h
//
// Kernels in, code out: what stands between tile IR and the units of execution. By LLVM to machine
// code; or not at all, and the evaluator of tile IR runs the kernels as they are, which is what
// machine code is compared with.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/cpu/families/family.h"
#include "backends/cpu/library/host.h"
#include "backends/cpu/tile/emit_llvm.h"
#include "backends/cpu/tile/program.h"
#include "backends/llvm/jit.h"

namespace hlo::cpu {

struct KernelSource {
  const Instruction* instruction = nullptr;
  const KernelPlan* plan = nullptr;
  std::vector<bool> checked;  // accesses, by node; empty: none
};

// A loop that is one function.
struct LoopSource {
  const Instruction* loop = nullptr;
  tile::Program program;
};

// One for each source, in order.
struct KernelFunctions {
  std::vector<tile::ProgramFunction*> loops;
  std::vector<tile::KernelFunction*> kernels;        // null: to be evaluated
  std::vector<std::unique_ptr<CompiledCode>> codes;  // where the functions lie
  double llvm_ms = 0, link_ms = 0;                   // as CodegenTimes
};

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  virtual bool TakesLoops() const = 0;
  virtual absl::StatusOr<KernelFunctions> Compile(absl::Span<const LoopSource> loops,
                                                  absl::Span<const KernelSource> kernels) = 0;
};

// Compiles on the threads of `pool`, or takes code from a closed store of `options`. Equal kernels
// become one function.
absl::StatusOr<std::unique_ptr<KernelCompiler>> MakeLlvmKernelCompiler(
    const Host& host, ThreadPool& pool, const CompileOptions& options);
// Leaves kernels to the evaluator.
std::unique_ptr<KernelCompiler> MakeEvaluatedKernels();

}  // namespace hlo::cpu
