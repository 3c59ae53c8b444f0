#include "backends/gpu/gpu_backend.h"

#include <chrono>
#include <functional>

#include "backends/common/texts_only.h"
#include "backends/gpu/device/caching_device.h"
#include "backends/gpu/device/cuda_device.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_executable.h"
#include "backends/gpu/nvptx/assembler.h"
#include "backends/gpu/nvptx/compile.h"
#include "backends/gpu/nvptx/cubin.h"
#include "backends/gpu/nvptx/nvptx.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/ir/printer.h"
#include "lib/support/status.h"
#include "passes/pass_manager.h"

namespace hlo {
namespace {

double NowInMilliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::Status RunGpuPasses(Module& module, const CompileOptions& options) {
  PassContext context;
  context.set_threads(options.threads);
  Instrumentation instrumentation;
  if (options.instrumentation != nullptr) instrumentation = *options.instrumentation;
  instrumentation.verify_each = options.verify_each_pass;
  return RunPipelineText("default<gpu>", module, context, instrumentation).status();
}

std::string TargetOf(const CompileOptions& options) {
  return options.gpu_target.empty() ? std::string(gpu::kDefaultTarget) : options.gpu_target;
}

// Texts of the kernels that were asked for.
absl::Status ShowKernels(const gpu::Program& program, const CompileOptions& options) {
  if (options.Wants(EmitStage::kLlvm)) {
    ASSIGN_OR_RETURN(const std::string text, gpu::KernelsAsText(program.kernels));
    options.emit_sink(EmitStage::kLlvm, text);
  }
  if (options.Wants(EmitStage::kPtx)) {
    ASSIGN_OR_RETURN(const std::string text, gpu::CompileToPtx(program.kernels, TargetOf(options)));
    options.emit_sink(EmitStage::kPtx, text);
  }
  if (options.Wants(EmitStage::kKernels)) {
    ASSIGN_OR_RETURN(const std::string ptx, gpu::CompileToPtx(program.kernels, TargetOf(options)));
    ASSIGN_OR_RETURN(const gpu::Assembled assembled, gpu::Assemble(ptx, TargetOf(options)));
    ASSIGN_OR_RETURN(const auto kernels, gpu::ReadCubin(assembled.cubin));
    options.emit_sink(EmitStage::kKernels, gpu::ToTable(kernels) + assembled.warnings);
  }
  return absl::OkStatus();
}

// What the two platforms do before they differ.
absl::StatusOr<gpu::Program> CompileProgram(Module& module, const CompileOptions& options,
                                            CompileStats& stats) {
  RETURN_IF_ERROR(gpu::CheckTarget(TargetOf(options)));
  if (options.denormals == Denormals::kFlush) {
    return Unsupported(SourceLoc(),
                       "platform `gpu` keeps denormal numbers; it has no `--denormals=flush` yet");
  }
  const double start = NowInMilliseconds();
  if (options.run_passes) RETURN_IF_ERROR(RunGpuPasses(module, options));
  stats.passes_ms = NowInMilliseconds() - start;
  if (options.Wants(EmitStage::kHlo)) options.emit_sink(EmitStage::kHlo, ToText(module));
  const double codegen = NowInMilliseconds();
  ASSIGN_OR_RETURN(gpu::Program program, gpu::EmitProgram(module, options));
  RETURN_IF_ERROR(ShowKernels(program, options));
  stats.codegen_ms = NowInMilliseconds() - codegen;
  stats.peak_bytes = program.buffers->total_size() + program.scratch_bytes;
  return program;
}

class GpuSimBackend final : public Backend {
 public:
  std::string_view name() const override { return "gpu-sim"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                      const CompileOptions& options) override {
    CompileStats stats;
    ASSIGN_OR_RETURN(gpu::Program program, CompileProgram(*module, options, stats));
    if (!options.emit.empty())
      return std::unique_ptr<Executable>(new TextsOnly(std::move(module), stats));
    const double load = NowInMilliseconds();
    gpu::SimulatorOptions simulator;
    simulator.seed = options.gpu_sim_seed;
    simulator.sanitize = options.gpu_sim_sanitize;
    ASSIGN_OR_RETURN(std::shared_ptr<gpu::Device> device, gpu::MakeSimulatedDevice(simulator));
    std::vector<gpu::DeviceCode> codes;
    for (const gpu::UniqueKernel& kernel : program.kernels)
      codes.push_back({kernel.bitcode, {}, {}, {gpu::kKernelName}});
    ASSIGN_OR_RETURN(
        std::unique_ptr<gpu::GpuExecutable> executable,
        gpu::GpuExecutable::Make(std::move(module), std::move(device), std::move(program), codes));
    stats.load_ms = NowInMilliseconds() - load;
    executable->SetStats(stats);
    return std::unique_ptr<Executable>(std::move(executable));
  }
};

// The first device, with the memory that executables before gave back.
absl::StatusOr<std::shared_ptr<gpu::Device>> CudaDeviceOfProcess() {
  static const absl::StatusOr<std::shared_ptr<gpu::Device>> device =
      []() -> absl::StatusOr<std::shared_ptr<gpu::Device>> {
    ASSIGN_OR_RETURN(std::unique_ptr<gpu::Device> opened, gpu::MakeCudaDevice());
    return std::make_shared<gpu::CachingDevice>(std::move(opened));
  }();
  return device;
}

class CudaBackend final : public Backend {
 public:
  std::string_view name() const override { return "gpu"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                      const CompileOptions& options) override {
    CompileStats stats;
    CompileOptions own = options;
    std::shared_ptr<gpu::Device> device;
    // Texts can be had without a device.
    if (options.emit.empty()) {
      ASSIGN_OR_RETURN(device, CudaDeviceOfProcess());
      if (own.gpu_target.empty()) own.gpu_target = TargetOf(device->properties());
    }
    ASSIGN_OR_RETURN(gpu::Program program, CompileProgram(*module, own, stats));
    if (device == nullptr)
      return std::unique_ptr<Executable>(new TextsOnly(std::move(module), stats));
    const double codegen = NowInMilliseconds();
    ASSIGN_OR_RETURN(const std::vector<gpu::DeviceCode> codes,
                     gpu::CompileKernels(program.kernels, TargetOf(own), own.threads));
    stats.codegen_ms += NowInMilliseconds() - codegen;
    return Load(std::move(module), std::move(device), std::move(program), codes, stats);
  }

 private:
  // The newest target we know that runs on the device.
  static std::string TargetOf(const gpu::DeviceProperties& properties) {
    const int capability = properties.compute_major * 10 + properties.compute_minor;
    return capability >= 90 ? "sm_90" : capability >= 89 ? "sm_89" : "sm_80";
  }
  static std::string TargetOf(const CompileOptions& options) { return hlo::TargetOf(options); }

  static absl::StatusOr<std::unique_ptr<Executable>> Load(std::unique_ptr<Module> module,
                                                          std::shared_ptr<gpu::Device> device,
                                                          gpu::Program program,
                                                          const std::vector<gpu::DeviceCode>& codes,
                                                          CompileStats stats) {
    const double load = NowInMilliseconds();
    ASSIGN_OR_RETURN(
        std::unique_ptr<gpu::GpuExecutable> executable,
        gpu::GpuExecutable::Make(std::move(module), std::move(device), std::move(program), codes));
    stats.load_ms = NowInMilliseconds() - load;
    executable->SetStats(stats);
    return std::unique_ptr<Executable>(std::move(executable));
  }
};

}  // namespace

std::unique_ptr<Backend> MakeGpuBackend() { return std::make_unique<CudaBackend>(); }

std::unique_ptr<Backend> MakeGpuSimBackend() { return std::make_unique<GpuSimBackend>(); }

}  // namespace hlo
