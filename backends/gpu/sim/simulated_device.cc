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
#include <mutex>
#include <utility>

#include "backends/gpu/sim/lowering.h"
#include "backends/llvm/jit.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

struct SimKernel final : DeviceKernel {
  SimKernelInfo info;
  SimEntry* entry = nullptr;
};

class SimModule final : public DeviceModule {
 public:
  std::map<std::string, SimKernel, std::less<>> kernels;
  std::unique_ptr<CompiledCode> code;

  absl::StatusOr<const DeviceKernel*> Find(std::string_view name) const override {
    const auto it = kernels.find(name);
    RET_CHECK(it != kernels.end(), "the module has no kernel `{}`", name);
    return &it->second;
  }
};

// Counts how often it was recorded and how often that was reached, with what had failed before.
class SimEvent final : public Event {
 public:
  int64_t recorded = 0;
  int64_t reached = 0;
  absl::Status status;
};

absl::StatusOr<std::unique_ptr<Jit>> MakeHostJit() {
  JitOptions options;
  options.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!options.features.empty()) options.features += ',';
    options.features += (feature.second ? "+" : "-") + feature.first().str();
  }
  // With VFPCLASS LLVM 19 takes a signalling NaN for a number in llvm.minimum and llvm.maximum of
  // it and what is no NaN.
  options.features += ",-avx512dq";
  // Emitters write scalars and vectors of 16 bytes.
  options.vector_bits = 128;
  options.verify = true;
  // The host's code is not what is tested, and most kernels run once: half the time
  // with the others.
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

  // One of them: something to run, a wait until an event has been reached `count` times, or a note
  // that it has.
  struct Work {
    std::function<absl::Status()> run;
    SimEvent* wait = nullptr;
    SimEvent* record = nullptr;
    int64_t count = 0;
  };
  // For the device, which has its lock.
  bool Ready() const {
    return !work_.empty() &&
           (work_.front().wait == nullptr || work_.front().wait->reached >= work_.front().count);
  }
  bool empty() const { return work_.empty(); }
  // After a failure the stream does nothing more until it has been told.
  void RunOne() {
    const Work work = std::move(work_.front());
    work_.pop_front();
    if (work.wait != nullptr) failure_.Update(work.wait->status);
    if (work.run && failure_.ok()) failure_ = work.run();
    if (work.record != nullptr && work.record->reached < work.count) {
      work.record->reached = work.count;
      work.record->status = failure_;
    }
  }
  absl::Status TakeFailure() { return std::exchange(failure_, absl::OkStatus()); }

 private:
  absl::Status Put(Work work);
  absl::Status Put(std::function<absl::Status()> run) { return Put(Work{std::move(run)}); }
  absl::Status Copy(void* destination, const void* source, int64_t bytes) {
    return Put([=] {
      if (bytes > 0) std::memmove(destination, source, static_cast<size_t>(bytes));
      return absl::OkStatus();
    });
  }
  SimulatedDevice& device_;
  std::deque<Work> work_;
  absl::Status failure_;
};

void* Host(DevicePtr address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));  // NOLINT: the simulated memory
}

// One thread at a time: whoever waits runs the work of all streams.
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
    const std::lock_guard<std::mutex> lock(mutex_);
    void* const memory =
        used_ + bytes > options_.memory_bytes
            ? nullptr
            : std::aligned_alloc(kMemoryAlignment,
                                 static_cast<size_t>(RoundUp(bytes, kMemoryAlignment)));
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
    const std::lock_guard<std::mutex> lock(mutex_);
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
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto& awaited = static_cast<const SimEvent&>(event);
    RETURN_IF_ERROR(RunUntil([&] { return awaited.reached >= awaited.recorded; }));
    return awaited.status;
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

  void Add(SimStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(stream);
  }
  void Remove(SimStream* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
  }

  std::mutex& mutex() { return mutex_; }

  // Runs work of all streams, in any order that is allowed, until `done` says so. The
  // caller has the lock.
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
      ready[choice]->RunOne();
    }
    return absl::OkStatus();
  }

  const SimulatorOptions& options() const { return options_; }
  SimEngine& engine() { return engine_; }

 private:
  SimulatorOptions options_;
  std::unique_ptr<Jit> jit_;
  DeviceProperties properties_;
  std::mutex mutex_;  // of all that follows
  std::map<DevicePtr, int64_t> memory_;
  int64_t used_ = 0;
  std::vector<SimStream*> streams_;
  uint64_t random_;
  SimEngine engine_;
};

SimStream::SimStream(SimulatedDevice& device) : device_(device) { device_.Add(this); }
SimStream::~SimStream() { device_.Remove(this); }

absl::Status SimStream::Put(Work work) {
  const std::lock_guard<std::mutex> lock(device_.mutex());
  if (work.record != nullptr) work.count = ++work.record->recorded;
  if (work.wait != nullptr) {
    RET_CHECK(work.wait->recorded > 0, "a stream waits for an event that was never recorded");
    work.count = work.wait->recorded;
  }
  work_.push_back(std::move(work));
  return absl::OkStatus();
}

absl::Status SimStream::LaunchKernel(const Launch& launch) {
  RETURN_IF_ERROR(CheckLaunch(launch, device_.properties()));
  const auto* const kernel = static_cast<const SimKernel*>(launch.kernel);
  RETURN_IF_ERROR(CheckSharedMemory(launch.name, kernel->info.shared_bytes, device_.properties()));
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
  return Put(Work{nullptr, nullptr, &static_cast<SimEvent&>(event)});
}

absl::Status SimStream::Wait(Event& event) {
  return Put(Work{nullptr, &static_cast<SimEvent&>(event)});
}

absl::Status SimStream::Synchronize() {
  const std::lock_guard<std::mutex> lock(device_.mutex());
  RETURN_IF_ERROR(device_.RunUntil([this] { return empty(); }));
  return TakeFailure();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeSimulatedDevice(const SimulatorOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, MakeHostJit());
  return std::unique_ptr<Device>(std::make_unique<SimulatedDevice>(options, std::move(jit)));
}

}  // namespace hlo::gpu
