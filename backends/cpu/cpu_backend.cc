#include "backends/cpu/cpu_backend.h"

#include "backends/codegen/platform_passes.h"
#include "backends/common/texts_only.h"
#include "backends/cpu/cpu_executable.h"
#include "backends/cpu/library/host.h"
#include "backends/cpu/thunk_emitter.h"
#include "backends/platforms.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "lib/support/thread_pool.h"

namespace hlo {

absl::StatusOr<std::string> CpuBackend::CodeTarget(const CompileOptions& options) const {
  ASSIGN_OR_RETURN(const cpu::Host host, cpu::DetectHost(options.cpu_features));
  return fmt::format("{}, vectors of {} bytes, {}", host.llvm_cpu(), host.vector_bytes(),
                     host.llvm_features());
}

absl::StatusOr<std::unique_ptr<Executable>> CpuBackend::Compile(std::unique_ptr<Module> module,
                                                                const CompileOptions& options) {
  CompileStats stats;
  ASSIGN_OR_RETURN(const cpu::Host host, cpu::DetectHost(options.cpu_features));
  RETURN_IF_ERROR(RunPlatformPasses(FindPlatform(name())->pipeline, *module, options, stats));
  if (options.emit == std::vector{EmitStage::kHlo})
    return std::make_unique<TextsOnly>(std::move(module), stats, nullptr, 0);

  const Stopwatch codegen;
  auto pool = std::make_unique<ThreadPool>(options.threads);
  const Stopwatch set_up;
  std::unique_ptr<cpu::KernelCompiler> compiler = cpu::MakeEvaluatedKernels();
  if (options.cpu.kernels == CpuKernels::kLlvm) {
    ASSIGN_OR_RETURN(compiler, cpu::MakeLlvmKernelCompiler(host, *pool, options));
  }
  const double set_up_ms = set_up.milliseconds();
  cpu::LibraryOptions library;
  library.host = host;
  library.threads = pool->size();
  library.denormals = options.denormals.value_or(DefaultDenormals(name()));
  library.seed = options.seed;
  ASSIGN_OR_RETURN(cpu::Program program,
                   cpu::EmitProgram(*module, *compiler, *pool, library, options));
  stats.codegen_ms = codegen.milliseconds();
  stats.codegen = program.times;
  stats.codegen.llvm_ms += set_up_ms;
  stats.peak_bytes = program.buffers->total_size() + program.scratch_bytes;
  if (!options.emit.empty()) {
    return std::make_unique<TextsOnly>(std::move(module), stats, std::move(program.buffers),
                                       program.scratch_bytes);
  }

  const Stopwatch load;
  ASSIGN_OR_RETURN(
      std::unique_ptr<cpu::CpuExecutable> executable,
      cpu::CpuExecutable::Make(std::move(module), std::move(pool), std::move(program), library));
  stats.load_ms = load.milliseconds();
  executable->SetStats(stats);
  return executable;
}

std::unique_ptr<Backend> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace hlo
