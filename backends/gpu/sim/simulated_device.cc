#include "backends/gpu/sim/simulated_device.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "backends/gpu/sim/lowering.h"
#include "backends/llvm/jit.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

struct SimKernel final : Kernel {
  SimKernelInfo info;
  SimEntry* entry = nullptr;
};

class SimModule final : public DeviceModule {
 public:
  std::map<std::string, SimKernel, std::less<>> kernels;
  std::unique_ptr<CompiledCode> code;

  absl::StatusOr<const Kernel*> Find(std::string_view name) const override {
    const auto it = kernels.find(name);
    RET_CHECK(it != kernels.end(), "the module has no kernel `{}`", name);
    return &it->second;
  }
};

// Counts how often it was recorded and how often that was reached.
class SimEvent final : public Event {
 public:
  int64_t recorded = 0;
  int64_t reached = 0;
};

absl::StatusOr<std::unique_ptr<Jit>> MakeHostJit() {
  JitOptions options;
  options.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!options.features.empty()) options.features += ',';
    options.features += (feature.second ? "+" : "-") + feature.first().str();
  }
  // Emitters write scalars and vectors of 16 bytes.
  options.vector_bits = 128;
  options.verify = true;
  // The host's code is not what is tested, and most kernels run once: half the time with the others.
  options.level = CodegenLevel::kNone;
  ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create(std::move(options)));
  jit->DefineSymbol("hlo_sim_barrier", reinterpret_cast<void*>(&hlo_sim_barrier));
  jit->DefineSymbol("hlo_sim_warp", reinterpret_cast<void*>(&hlo_sim_warp));
  jit->DefineSymbol("hlo_sim_tensor", reinterpret_cast<void*>(&hlo_sim_tensor));
  jit->DefineSymbol("hlo_sim_access", reinterpret_cast<void*>(&hlo_sim_access));
  return jit;
}

class SimulatedDevice;

class SimStream final : public Stream {
 public:
  explicit SimStream(SimulatedDevice& device);
  ~SimStream() override;
  absl::Status LaunchKernel(const Launch& launch) override;
  absl::Status CopyToDevice(DevicePtr destination, const void* source, int64_t bytes) override;
  absl::Status CopyToHost(void* destination, DevicePtr source, int64_t bytes) override;
  absl::Status CopyOnDevice(DevicePtr destination, DevicePtr source, int64_t bytes) override;
  absl::Status Fill(DevicePtr destination, uint8_t value, int64_t bytes) override;
  absl::Status Record(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::Status Synchronize() override;

  struct Work {
    std::function<absl::Status()> run;
    SimEvent* wait = nullptr;  // work is ready when this event has been reached `wait_count` times
    int64_t wait_count = 0;
  };
  bool Ready() const {
    return !work_.empty() && (work_.front().wait == nullptr ||
                              work_.front().wait->reached >= work_.front().wait_count);
  }
  bool empty() const { return work_.empty(); }
  absl::Status RunOne() {
    Work work = std::move(work_.front());
    work_.pop_front();
    return work.run ? work.run() : absl::OkStatus();
  }
  void Clear() { work_.clear(); }

 private:
  absl::Status Put(std::function<absl::Status()> run) {
    work_.push_back({std::move(run)});
    return absl::OkStatus();
  }
  absl::Status Copy(void* destination, const void* source, int64_t bytes) {
    return Put([=] {
      if (bytes > 0) std::memmove(destination, source, static_cast<size_t>(bytes));
      return absl::OkStatus();
    });
  }
  SimulatedDevice& device_;
  std::deque<Work> work_;
};

void* Host(DevicePtr address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));  // NOLINT: the simulated memory
}

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(const SimulatorOptions& options, std::unique_ptr<Jit> jit)
      : options_(options), jit_(std::move(jit)), random_(options.seed * 2 + 1) {
    properties_.name = "simulated GPU";
    properties_.memory_bytes = options.memory_bytes;
    properties_.multiprocessors = 4;
  }
  ~SimulatedDevice() override {
    for (const auto& [address, bytes] : memory_) std::free(Host(address));
  }
  const DeviceProperties& properties() const override { return properties_; }

  absl::StatusOr<DevicePtr> Allocate(int64_t bytes) override {
    if (bytes == 0) return DevicePtr{0};
    constexpr int64_t kAlignment = 256;
    void* const memory =
        used_ + bytes > options_.memory_bytes
            ? nullptr
            : std::aligned_alloc(kAlignment, static_cast<size_t>(RoundUp(bytes, kAlignment)));
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(
          fmt::format("out of device memory: {} bytes wanted, {} of {} in use", bytes, used_,
                      options_.memory_bytes)
              .c_str());
    }
    std::memset(memory, 0xff, static_cast<size_t>(bytes));
    const auto address = static_cast<DevicePtr>(reinterpret_cast<uintptr_t>(memory));
    memory_[address] = bytes;
    used_ += bytes;
    return address;
  }

  absl::Status Free(DevicePtr address) override {
    if (address == 0) return absl::OkStatus();
    const auto it = memory_.find(address);
    RET_CHECK(it != memory_.end(), "free of {:#x}, which is not allocated", address);
    used_ -= it->second;
    memory_.erase(it);
    std::free(Host(address));
    return absl::OkStatus();
  }

  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return bytes == 0 ? nullptr : std::malloc(static_cast<size_t>(bytes));
  }
  absl::Status FreeHost(void* memory) override {
    std::free(memory);
    return absl::OkStatus();
  }
  absl::Status WaitFor(Event& event) override {
    const auto& awaited = static_cast<const SimEvent&>(event);
    const int64_t recorded = awaited.recorded;
    return RunUntil([&] { return awaited.reached >= recorded; });
  }

  absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) override {
    llvm::LLVMContext context;
    const llvm::MemoryBufferRef buffer(llvm::StringRef(code.bitcode.data(), code.bitcode.size()),
                                       "kernels");
    auto parsed = llvm::parseBitcodeFile(buffer, context);
    if (!parsed) return Internal("cannot read bitcode: {}", llvm::toString(parsed.takeError()));
    llvm::Module& module = **parsed;
    const std::unique_ptr<llvm::Module> model = jit_->NewModule(context, "model");
    module.setDataLayout(model->getDataLayout());
    module.setTargetTriple(model->getTargetTriple());
    ASSIGN_OR_RETURN(std::vector<SimKernelInfo> infos,
                     LowerForSimulator(module, code.kernels, {options_.sanitize}));
    auto result = std::make_unique<SimModule>();
    ASSIGN_OR_RETURN(result->code, jit_->Compile(module));
    for (SimKernelInfo& info : infos) {
      SimKernel& kernel = result->kernels[info.name];
      kernel.entry = result->code->Function<SimEntry>(info.name + ".entry");
      RET_CHECK(kernel.entry != nullptr, "kernel `{}` was not compiled", info.name);
      kernel.info = std::move(info);
    }
    return std::unique_ptr<DeviceModule>(std::move(result));
  }

  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override {
    return std::unique_ptr<Stream>(std::make_unique<SimStream>(*this));
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<SimEvent>());
  }

  void Add(SimStream* stream) { streams_.push_back(stream); }
  void Remove(SimStream* stream) {
    streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
  }

  // Runs work of all streams, in any order that is allowed, until `done` says so.
  template <class Done>
  absl::Status RunUntil(const Done& done) {
    while (!done()) {
      std::vector<SimStream*> ready;
      for (SimStream* candidate : streams_) {
        if (candidate->Ready()) ready.push_back(candidate);
      }
      RET_CHECK(!ready.empty(), "streams wait for events that no one records");
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const size_t choice = options_.seed == 0 ? 0 : (random_ >> 33) % ready.size();
      if (absl::Status status = ready[choice]->RunOne(); !status.ok()) {
        for (SimStream* each : streams_) each->Clear();
        return status;
      }
    }
    return absl::OkStatus();
  }

  const SimulatorOptions& options() const { return options_; }
  SimEngine& engine() { return engine_; }

 private:
  SimulatorOptions options_;
  std::unique_ptr<Jit> jit_;
  DeviceProperties properties_;
  std::map<DevicePtr, int64_t> memory_;
  int64_t used_ = 0;
  std::vector<SimStream*> streams_;
  uint64_t random_;
  SimEngine engine_;
};

SimStream::SimStream(SimulatedDevice& device) : device_(device) { device_.Add(this); }
SimStream::~SimStream() { device_.Remove(this); }

absl::Status SimStream::LaunchKernel(const Launch& launch) {
  RETURN_IF_ERROR(CheckLaunch(launch, device_.properties()));
  const auto* const kernel = static_cast<const SimKernel*>(launch.kernel);
  RET_CHECK(kernel->info.shared_bytes <= device_.properties().shared_bytes_per_block,
            "kernel of `{}` uses {} bytes of shared memory", launch.name,
            kernel->info.shared_bytes);
  std::vector<KernelArgument> arguments(launch.arguments.begin(), launch.arguments.end());
  return Put([this, kernel, dims = launch.dims, arguments = std::move(arguments),
              name = std::string(launch.name)] {
    SimLaunch simulated;
    simulated.entry = kernel->entry;
    simulated.info = &kernel->info;
    simulated.dims = dims;
    simulated.arguments = arguments;
    simulated.name = name;
    simulated.seed = device_.options().seed;
    simulated.sanitize = device_.options().sanitize;
    return device_.engine().Run(simulated);
  });
}

absl::Status SimStream::CopyToDevice(DevicePtr destination, const void* source, int64_t bytes) {
  return Copy(Host(destination), source, bytes);
}
absl::Status SimStream::CopyToHost(void* destination, DevicePtr source, int64_t bytes) {
  return Copy(destination, Host(source), bytes);
}
absl::Status SimStream::CopyOnDevice(DevicePtr destination, DevicePtr source, int64_t bytes) {
  return Copy(Host(destination), Host(source), bytes);
}
absl::Status SimStream::Fill(DevicePtr destination, uint8_t value, int64_t bytes) {
  return Put([=] {
    if (bytes > 0) std::memset(Host(destination), value, static_cast<size_t>(bytes));
    return absl::OkStatus();
  });
}

absl::Status SimStream::Record(Event& event) {
  auto& recorded = static_cast<SimEvent&>(event);
  const int64_t number = ++recorded.recorded;
  return Put([&recorded, number] {
    recorded.reached = std::max(recorded.reached, number);
    return absl::OkStatus();
  });
}

absl::Status SimStream::Wait(Event& event) {
  auto& awaited = static_cast<SimEvent&>(event);
  RET_CHECK(awaited.recorded > 0, "a stream waits for an event that was never recorded");
  work_.push_back({nullptr, &awaited, awaited.recorded});
  return absl::OkStatus();
}

absl::Status SimStream::Synchronize() {
  return device_.RunUntil([this] { return empty(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeSimulatedDevice(const SimulatorOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, MakeHostJit());
  return std::unique_ptr<Device>(std::make_unique<SimulatedDevice>(options, std::move(jit)));
}

}  // namespace hlo::gpu
