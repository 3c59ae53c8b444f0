#include "backends/cpu/cpu_backend.h"

#include <chrono>
#include <cstring>

#include "backends/common/texts_only.h"
#include "backends/cpu/cpu_executable.h"
#include "backends/cpu/cpu_pipeline.h"
#include "backends/cpu/library/host.h"
#include "backends/cpu/thunk_emitter.h"
#include "backends/cpu/tile/watch.h"
#include "lib/ir/printer.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"

namespace hlo {
namespace {

double Milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<std::unique_ptr<Jit>> MakeJit(const cpu::Host& host) {
  JitOptions options;
  options.cpu = host.llvm_cpu();
  options.features = host.llvm_features();
  options.vector_bits = host.vector_bytes() * 8;
  ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create(std::move(options)));
  // What checked code calls.
  jit->DefineSymbol(cpu::tile::kAllowsSymbol, reinterpret_cast<void*>(&cpu::tile::WatchAllows));
  jit->DefineSymbol(cpu::tile::kAllowsLaneSymbol,
                    reinterpret_cast<void*>(&cpu::tile::WatchAllowsLane));
  return jit;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CpuBackend::Compile(std::unique_ptr<Module> module,
                                                                const CompileOptions& options) {
  CompileStats stats;
  ASSIGN_OR_RETURN(const cpu::Host host, cpu::DetectHost(options.cpu_features));
  const double start = Milliseconds();
  if (options.run_passes) RETURN_IF_ERROR(cpu::RunPasses(*module, options));
  stats.passes_ms = Milliseconds() - start;
  if (options.Wants(EmitStage::kHlo)) options.emit_sink(EmitStage::kHlo, ToText(*module));
  if (options.emit == std::vector{EmitStage::kHlo})
    return std::make_unique<TextsOnly>(std::move(module), stats);

  const double codegen = Milliseconds();
  auto pool = std::make_unique<ThreadPool>(options.threads);
  std::unique_ptr<Jit> jit;
  if (options.cpu.kernels == CpuKernels::kLlvm) {
    ASSIGN_OR_RETURN(jit, MakeJit(host));
  }
  cpu::LibraryOptions library;
  library.host = host;
  library.threads = pool->size();
  library.denormals = options.denormals.value_or(Denormals::kFlush);
  library.seed = options.seed;
  EvalOptions eval;
  eval.denormals = library.denormals;
  eval.seed = options.seed;
  library.evaluator = std::make_shared<Evaluator>(std::move(eval));
  ASSIGN_OR_RETURN(cpu::Program program,
                   cpu::EmitProgram(*module, jit.get(), *pool, library, options));
  stats.codegen_ms = Milliseconds() - codegen;
  stats.peak_bytes = program.buffers->total_size() + program.scratch_bytes;
  if (!options.emit.empty()) return std::make_unique<TextsOnly>(std::move(module), stats);

  const double load = Milliseconds();
  ASSIGN_OR_RETURN(std::unique_ptr<cpu::CpuExecutable> executable,
                   cpu::CpuExecutable::Make(std::move(module), std::move(jit), std::move(pool),
                                            std::move(program), library));
  stats.load_ms = Milliseconds() - load;
  executable->SetStats(stats);
  return executable;
}

std::unique_ptr<Backend> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace hlo
