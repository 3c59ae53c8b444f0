#include "backends/gpu/gpu_backend.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "backends/codegen/platform_passes.h"
#include "backends/common/texts_only.h"
#include "backends/gpu/device/cuda_devices.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_executable.h"
#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/kernel_tuner.h"
#include "backends/gpu/library/kernel_choices.h"
#include "backends/gpu/library/nccl_communicator.h"
#include "backends/gpu/nvptx/assembler.h"
#include "backends/gpu/nvptx/compile.h"
#include "backends/gpu/nvptx/cubin.h"
#include "backends/gpu/nvptx/nvptx.h"
#include "backends/gpu/nvptx/occupancy.h"
#include "backends/gpu/product_thunk.h"
#include "backends/gpu/ptx_thunk.h"
#include "backends/gpu/sim/simulated_device.h"
#include "backends/platforms.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "passes/gpu/gpu_device.h"

namespace hlo {
namespace {

std::string TargetOf(const CompileOptions& options) {
  return options.gpu.target.empty() ? std::string(gpu::kDefaultTarget) : options.gpu.target;
}

// Of the largest GPU that code for `target` is for, where neither a device nor anybody says which.
int MultiprocessorsOf(std::string_view target) {
  int most = 0;
  for (const GpuDevice& gpu : AllGpuDevices()) {
    if (ComputeCapabilityOf(gpu.target) == ComputeCapabilityOf(target))
      most = std::max(most, static_cast<int>(gpu.multiprocessors));
  }
  return most > 0 ? most : MultiprocessorsOf(gpu::kDefaultTarget);
}

gpu::PtxOptions PtxOptionsOf(const CompileOptions& options) {
  return {TargetOf(options), options.gpu.overlap};
}

// The largest launch of each kernel, by its number.
void CollectLaunches(const ThunkList& thunks, std::map<int, gpu::LaunchDims>& launches) {
  for (const auto& thunk : thunks) {
    if (const auto* control = dynamic_cast<const ControlThunk*>(thunk.get())) {
      for (const ThunkList& list : control->lists()) CollectLaunches(list, launches);
    }
    const auto* kernel = dynamic_cast<const gpu::GpuKernelThunk*>(thunk.get());
    if (kernel == nullptr) continue;
    const auto blocks = [](const gpu::LaunchDims& dims) {
      return dims.grid[0] * dims.grid[1] * dims.grid[2];
    };
    for (const gpu::GpuKernelThunk::Step& step : kernel->steps()) {
      if (step.kind != gpu::PlanStep::Kind::kLaunch) continue;
      const auto [it, is_new] = launches.try_emplace(step.kernel, step.dims);
      if (!is_new && blocks(step.dims) > blocks(it->second)) it->second = step.dims;
    }
  }
}

absl::Status AddLaunches(const gpu::Program& program, std::string_view target,
                         std::vector<gpu::KernelResources>& kernels) {
  std::map<int, gpu::LaunchDims> launches;
  CollectLaunches(program.thunks, launches);
  for (const auto& [number, dims] : launches) {
    const auto i = static_cast<size_t>(number);
    ASSIGN_OR_RETURN(const gpu::KernelEntry entry, gpu::EntryOf(program.kernels[i]));
    for (gpu::KernelResources& kernel : kernels) {
      if (kernel.name != entry.name) continue;
      kernel.shared_bytes += static_cast<int>(entry.shared_bytes);
      kernel.threads = dims.block;
      kernel.blocks = dims.grid[0] * dims.grid[1] * dims.grid[2];
      kernel.occupancy = gpu::Occupancy(target, dims.block, kernel.registers, kernel.shared_bytes);
    }
  }
  return absl::OkStatus();
}

bool StartsFromPtx(const CompileOptions& options) {
  return options.start && options.start->stage == EmitStage::kPtx;
}

// The kernels as one module of PTX, or what somebody made of it.
absl::StatusOr<std::string> PtxOf(const gpu::Program& program, const CompileOptions& options) {
  if (StartsFromPtx(options)) return options.start->text;
  ASSIGN_OR_RETURN(gpu::Ptx ptx, gpu::CompileToPtx(program.kernels, PtxOptionsOf(options)));
  return std::move(ptx.text);
}

// Texts of the kernels that were asked for.
absl::Status ShowKernels(const gpu::Program& program, const CompileOptions& options) {
  if (options.Wants(EmitStage::kLlvm)) {
    for (const gpu::UniqueKernel& kernel : program.kernels) {
      ASSIGN_OR_RETURN(const std::string text, gpu::KernelAsText(kernel));
      options.emit_sink(EmitStage::kLlvm, text);
    }
    if (program.kernels.empty()) options.emit_sink(EmitStage::kLlvm, "");
  }
  const bool wants_ptx = options.Wants(EmitStage::kPtx);
  const bool wants_table = options.Wants(EmitStage::kKernels);
  const bool wants_code = wants_table || options.Wants(EmitStage::kSass);
  if (!wants_ptx && !wants_code) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string ptx, PtxOf(program, options));
  if (wants_ptx) options.emit_sink(EmitStage::kPtx, ptx);
  if (!wants_code) return absl::OkStatus();
  ASSIGN_OR_RETURN(const gpu::Assembled assembled,
                   StartsFromPtx(options) ? gpu::AssembleEdited(*options.start, TargetOf(options))
                                          : gpu::Assemble(ptx, TargetOf(options)));
  if (options.Wants(EmitStage::kSass)) {
    ASSIGN_OR_RETURN(const std::string text, gpu::Disassemble(assembled.cubin));
    options.emit_sink(EmitStage::kSass, text);
  }
  if (!wants_table) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto kernels, gpu::ReadCubin(assembled.cubin));
  RETURN_IF_ERROR(AddLaunches(program, TargetOf(options), kernels));
  options.emit_sink(EmitStage::kKernels, gpu::ToTable(kernels) + assembled.warnings);
  return absl::OkStatus();
}

// What the two platforms do before they differ.
absl::StatusOr<gpu::Program> CompileProgram(Module& module, const CompileOptions& options,
                                            const gpu::MakeLibrary& library,
                                            gpu::KernelTuner* tuner, CompileStats& stats) {
  RETURN_IF_ERROR(gpu::CheckTarget(TargetOf(options)));
  if (!options.gpu.autotune_file.empty())
    RETURN_IF_ERROR(gpu::KernelChoices::Check(options.gpu.autotune_file));
  if (options.denormals == Denormals::kFlush) {
    return Unsupported(SourceLoc(),
                       "platform `gpu` keeps denormal numbers; it has no `--denormals=flush` yet");
  }
  RETURN_IF_ERROR(RunPlatformPasses(FindPlatform("gpu")->pipeline, module, options, stats));
  const Stopwatch codegen;
  ASSIGN_OR_RETURN(gpu::Program program, gpu::EmitProgram(module, options, library, tuner));
  if (options.start && options.start->stage == EmitStage::kLlvm)
    RETURN_IF_ERROR(gpu::ReplaceKernels(*options.start, program.kernels));
  RETURN_IF_ERROR(ShowKernels(program, options));
  stats.codegen_ms = codegen.milliseconds();
  stats.codegen = program.times;
  stats.peak_bytes = program.buffers->total_size() + program.scratch_bytes;
  return program;
}

// The platforms differ in the device and the code that it takes.
class GpuBackend : public Backend {
 public:
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                      const CompileOptions& options) final {
    CompileStats stats;
    CompileOptions own = options;
    gpu::DeviceSet devices;
    // Texts can be had without a device.
    if (options.emit.empty()) {
      ASSIGN_OR_RETURN(devices, OpenDevices(*module, own));
    }
    if (own.gpu.multiprocessors == 0) own.gpu.multiprocessors = MultiprocessorsOf(TargetOf(own));
    const std::shared_ptr<gpu::KernelTuner> tuner = Tuner(devices.all, own);
    ASSIGN_OR_RETURN(gpu::Program program,
                     CompileProgram(*module, own, Library(devices.all, own), tuner.get(), stats));
    if (devices.all.empty()) {
      return std::unique_ptr<Executable>(new TextsOnly(
          std::move(module), stats, std::move(program.buffers), program.scratch_bytes));
    }
    const Stopwatch codegen;
    ASSIGN_OR_RETURN(const std::vector<gpu::DeviceCode> codes, CompileCode(program.kernels, own));
    stats.codegen.llvm_ms += codegen.milliseconds();
    stats.codegen_ms += codegen.milliseconds();
    const Stopwatch load;
    ASSIGN_OR_RETURN(
        std::unique_ptr<gpu::GpuExecutable> executable,
        gpu::GpuExecutable::Make(std::move(module), std::move(devices), std::move(program), codes));
    stats.load_ms = load.milliseconds();
    executable->SetStats(stats);
    return std::unique_ptr<Executable>(std::move(executable));
  }

 protected:
  using Devices = std::vector<std::shared_ptr<gpu::Device>>;
  // For large products on devices that are open; none: no program is run.
  virtual gpu::MakeLibrary Library(const Devices& /*devices*/,
                                   const CompileOptions& /*options*/) const {
    return nullptr;
  }
  // Chooses among kernels of our own, if that is asked for.
  virtual std::shared_ptr<gpu::KernelTuner> Tuner(const Devices& /*devices*/,
                                                  const CompileOptions& /*options*/) const {
    return nullptr;
  }
  // May choose what `options` leave open.
  virtual absl::StatusOr<gpu::DeviceSet> OpenDevices(const Module& module,
                                                     CompileOptions& options) = 0;
  virtual absl::StatusOr<std::vector<gpu::DeviceCode>> CompileCode(
      absl::Span<const gpu::UniqueKernel> kernels, const CompileOptions& options) = 0;
};

class GpuSimBackend final : public GpuBackend {
 public:
  std::string_view name() const override { return "gpu-sim"; }

 private:
  absl::StatusOr<gpu::DeviceSet> OpenDevices(const Module& module,
                                             CompileOptions& options) override {
    RETURN_IF_ERROR(gpu::RefusePtxCalls(module));
    gpu::SimulatorOptions simulator;
    simulator.seed = static_cast<uint64_t>(options.gpu.sim_seed);
    simulator.sanitize = options.gpu.sim_sanitize;
    gpu::DeviceSet devices;
    ASSIGN_OR_RETURN(devices.all.emplace_back(), gpu::MakeSimulatedDevice(simulator));
    return devices;
  }
  absl::StatusOr<std::vector<gpu::DeviceCode>> CompileCode(
      absl::Span<const gpu::UniqueKernel> kernels, const CompileOptions& options) override {
    if (StartsFromPtx(options)) {
      return Error(
          "{}: platform `gpu-sim` runs LLVM IR and no PTX; start from stage llvm, or on "
          "platform gpu",
          options.start->file);
    }
    std::vector<gpu::DeviceCode> codes;
    for (const gpu::UniqueKernel& kernel : kernels)
      codes.push_back({kernel.bitcode, {}, {}, {{gpu::kKernelName}}});
    return codes;
  }
};

// Where a module runs: on as many devices as it asks for, else on one. NCCL is looked for only
// where there are several, or processes that may have others.
absl::StatusOr<gpu::DeviceSet> CudaDevicesOf(const Module& module) {
  const int64_t count = module.config().replica_count * module.config().num_partitions;
  gpu::DeviceSet devices;
  ASSIGN_OR_RETURN(devices.all, gpu::CudaDevicesFor(count));
  if (count == 1 || (devices.all.size() == 1 && gpu::PlaceOfProcess().processes == 1))
    return devices;
  const absl::StatusOr<const gpu::Nccl*> nccl = gpu::LoadNccl();
  if (!nccl.ok()) devices.all.resize(1);
  devices.collectives = std::make_shared<gpu::NcclCommunicator>(nccl.ok() ? *nccl : nullptr);
  return devices;
}

class CudaBackend final : public GpuBackend {
 public:
  std::string_view name() const override { return "gpu"; }

 private:
  absl::StatusOr<gpu::DeviceSet> OpenDevices(const Module& module,
                                             CompileOptions& options) override {
    ASSIGN_OR_RETURN(gpu::DeviceSet devices, CudaDevicesOf(module));
    if (options.gpu.target.empty()) options.gpu.target = NewestTargetOf(devices.all);
    if (options.gpu.multiprocessors == 0)
      options.gpu.multiprocessors = devices.all.front()->properties().multiprocessors;
    return devices;
  }
  absl::StatusOr<std::vector<gpu::DeviceCode>> CompileCode(
      absl::Span<const gpu::UniqueKernel> kernels, const CompileOptions& options) override {
    if (!StartsFromPtx(options))
      return gpu::CompileKernels(kernels, PtxOptionsOf(options), options.threads);
    ASSIGN_OR_RETURN(gpu::DeviceCode code,
                     gpu::CompileEdited(*options.start, kernels, TargetOf(options)));
    return std::vector<gpu::DeviceCode>{std::move(code)};
  }

  absl::Status Open() override { return gpu::CudaDevicesFor(1).status(); }
  gpu::MakeLibrary Library(const Devices& devices, const CompileOptions& options) const override {
    if (devices.empty()) return gpu::AssumedLibrary;
    if (devices.size() > 1) return nullptr;  // its plans are of one device
    return [device = devices.front(), autotune = options.gpu.autotune,
            file = options.gpu.autotune_file]() -> std::shared_ptr<const gpu::ProductLibrary> {
      static const auto library = gpu::MakeCublasLibrary();
      if (!library.ok() || !(autotune || !file.empty())) return library.ok() ? *library : nullptr;
      // One for each file: what has been timed is not timed again.
      static std::mutex mutex;
      static std::map<std::string, std::shared_ptr<const gpu::ProductLibrary>> timed;
      const std::lock_guard<std::mutex> lock(mutex);
      std::shared_ptr<const gpu::ProductLibrary>& own = timed[file];
      if (own == nullptr) own = gpu::TimedLibrary(*library, device, file).value_or(*library);
      return own;
    };
  }

  std::shared_ptr<gpu::KernelTuner> Tuner(const Devices& devices,
                                          const CompileOptions& options) const override {
    const std::string& file = options.gpu.autotune_file;
    if (devices.size() != 1 || options.start || !(options.gpu.autotune || !file.empty()))
      return nullptr;
    // One for each file and target: what has been timed is not timed again.
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, std::shared_ptr<gpu::KernelTuner>> tuners;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<gpu::KernelTuner>& own = tuners[{file, options.gpu.target}];
    const auto compile = [ptx = PtxOptionsOf(options),
                          threads = options.threads](absl::Span<const gpu::UniqueKernel> kernels) {
      return gpu::CompileKernels(kernels, ptx, threads);
    };
    if (own == nullptr)
      own = gpu::MakeKernelTuner(devices.front(), compile, file).value_or(nullptr);
    return own;
  }

  // The newest target we know that runs on all of them.
  static std::string NewestTargetOf(const Devices& devices) {
    int capability = std::numeric_limits<int>::max();
    for (const std::shared_ptr<gpu::Device>& device : devices) {
      const gpu::DeviceProperties& properties = device->properties();
      capability = std::min(capability, properties.compute_major * 10 + properties.compute_minor);
    }
    return capability >= 90 ? "sm_90" : capability >= 89 ? "sm_89" : "sm_80";
  }
};

}  // namespace

std::unique_ptr<Backend> MakeGpuBackend() { return std::make_unique<CudaBackend>(); }

std::unique_ptr<Backend> MakeGpuSimBackend() { return std::make_unique<GpuSimBackend>(); }

}  // namespace hlo
