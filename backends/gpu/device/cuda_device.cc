#include "backends/gpu/device/cuda_device.h"

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <semaphore>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "backends/gpu/cuda/driver.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr std::chrono::milliseconds kLongestHold(50);

struct CudaKernel final : DeviceKernel {
  void* function = nullptr;
  unsigned shared_bytes = 0;  // KernelEntry::shared_bytes
  bool waits = false;         // DeviceCode::waits
};

class CudaModule final : public DeviceModule {
 public:
  CudaModule(const CudaDriver& driver, void* module) : driver_(driver), module_(module) {}
  ~CudaModule() override { driver_.cuModuleUnload(module_); }

  absl::Status Add(const KernelEntry& entry, bool waits, const DeviceProperties& properties) {
    CudaKernel& kernel = kernels_[entry.name];
    kernel.waits = waits;
    RETURN_IF_ERROR(
        driver_.Check(driver_.cuModuleGetFunction(&kernel.function, module_, entry.name.c_str()),
                      "cuModuleGetFunction"));
    if (entry.shared_bytes == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckSharedMemory(entry.name, entry.shared_bytes, properties));
    kernel.shared_bytes = static_cast<unsigned>(entry.shared_bytes);
    return driver_.Check(driver_.cuFuncSetAttribute(kernel.function, kCudaSharedOfLaunch,
                                                    static_cast<int>(entry.shared_bytes)),
                         "cuFuncSetAttribute");
  }
  absl::StatusOr<const DeviceKernel*> Find(std::string_view name) const override {
    const auto it = kernels_.find(name);
    RET_CHECK(it != kernels_.end(), "the module has no kernel `{}`", name);
    return &it->second;
  }

 private:
  const CudaDriver& driver_;
  void* module_;
  std::map<std::string, CudaKernel, std::less<>> kernels_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(const CudaDriver& driver, void* event) : driver_(driver), event_(event) {}
  ~CudaEvent() override { driver_.cuEventDestroy_v2(event_); }
  void* handle() const { return event_; }

 private:
  const CudaDriver& driver_;
  void* event_;
};

absl::StatusOr<std::unique_ptr<CudaEvent>> MakeEvent(const CudaDriver& driver, unsigned flags) {
  void* event = nullptr;
  RETURN_IF_ERROR(driver.Check(driver.cuEventCreate(&event, flags), "cuEventCreate"));
  return std::make_unique<CudaEvent>(driver, event);
}

class CudaGraph final : public Graph {
 public:
  CudaGraph(const CudaDriver& driver, void* executable)
      : driver_(driver), executable_(executable) {}
  ~CudaGraph() override { driver_.cuGraphExecDestroy(executable_); }
  void* executable() const { return executable_; }

 private:
  const CudaDriver& driver_;
  void* executable_;
};

class CudaStream final : public Stream {
 public:
  CudaStream(const CudaDriver& driver, const DeviceProperties& properties, void* stream)
      : driver_(driver), properties_(properties), stream_(stream) {}
  ~CudaStream() override { driver_.cuStreamDestroy_v2(stream_); }

  void* native_handle() override { return stream_; }
  bool CanCapture() const override { return true; }
  absl::Status BeginCapture() override {
    return driver_.Check(driver_.cuStreamBeginCapture_v2(stream_, kCudaCaptureOfThread),
                         "cuStreamBeginCapture");
  }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    void* graph = nullptr;
    RETURN_IF_ERROR(
        driver_.Check(driver_.cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture"));
    void* executable = nullptr;
    const int result = driver_.cuGraphInstantiateWithFlags(&executable, graph, 0);
    driver_.cuGraphDestroy(graph);
    RETURN_IF_ERROR(driver_.Check(result, "cuGraphInstantiate"));
    return std::unique_ptr<Graph>(std::make_unique<CudaGraph>(driver_, executable));
  }
  absl::Status LaunchGraph(const Graph& graph) override {
    return driver_.Check(
        driver_.cuGraphLaunch(static_cast<const CudaGraph&>(graph).executable(), stream_),
        "cuGraphLaunch");
  }
  absl::Status LaunchKernel(const Launch& launch) override {
    RETURN_IF_ERROR(CheckLaunch(launch, properties_));
    absl::InlinedVector<uint64_t, 64> values;
    for (const KernelArgument& argument : launch.arguments) values.push_back(argument.value);
    absl::InlinedVector<void*, 64> pointers;
    for (uint64_t& value : values) pointers.push_back(&value);
    if (launches_++ == 0) first_ = launch.name;
    last_ = launch.name;
    const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
    CudaLaunchAttribute overlap = {kCudaProgrammaticSerialization, 0, {}};
    overlap.value.allowed = 1;
    CudaLaunchConfig config = {};
    for (size_t i = 0; i < 3; ++i) config.grid[i] = static_cast<unsigned>(launch.dims.grid[i]);
    config.block[0] = static_cast<unsigned>(launch.dims.block);
    config.block[1] = static_cast<unsigned>(launch.dims.block_yz[0]);
    config.block[2] = static_cast<unsigned>(launch.dims.block_yz[1]);
    config.shared_bytes = kernel.shared_bytes;
    config.stream = stream_;
    config.attributes = &overlap;
    config.attribute_count = kernel.waits && launch.overlaps ? 1 : 0;
    const int result = driver_.cuLaunchKernelEx(&config, kernel.function, pointers.data(), nullptr);
    if (result == 0) return absl::OkStatus();
    return driver_.Check(result, fmt::format("launch of `{}`", launch.name).c_str());
  }
  absl::Status CopyToDevice(DevicePtr destination, const void* source, int64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return driver_.Check(
        driver_.cuMemcpyHtoDAsync_v2(destination, source, static_cast<size_t>(bytes), stream_),
        "copy to the device");
  }
  absl::Status CopyToHost(void* destination, DevicePtr source, int64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return driver_.Check(
        driver_.cuMemcpyDtoHAsync_v2(destination, source, static_cast<size_t>(bytes), stream_),
        "copy to the host");
  }
  absl::Status CopyOnDevice(DevicePtr destination, DevicePtr source, int64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return driver_.Check(
        driver_.cuMemcpyDtoDAsync_v2(destination, source, static_cast<size_t>(bytes), stream_),
        "copy on the device");
  }
  absl::Status Fill(DevicePtr destination, uint8_t value, int64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return driver_.Check(
        driver_.cuMemsetD8Async(destination, value, static_cast<size_t>(bytes), stream_), "fill");
  }
  absl::Status Record(Event& event) override {
    return driver_.Check(driver_.cuEventRecord(static_cast<CudaEvent&>(event).handle(), stream_),
                         "cuEventRecord");
  }
  absl::Status Wait(Event& event) override {
    return driver_.Check(
        driver_.cuStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).handle(), 0),
        "cuStreamWaitEvent");
  }
  bool HasClock() const override { return true; }
  absl::StatusOr<int64_t> Time(absl::FunctionRef<absl::Status()> enqueue) override {
    for (std::unique_ptr<CudaEvent>& event : clock_) {
      if (event != nullptr) continue;
      ASSIGN_OR_RETURN(event, MakeEvent(driver_, kCudaEventDefault));
    }
    // The device waits until it has been given everything: what launching costs the host is not
    // part of its time. Not forever, as a kernel's first launch may have to wait for the device.
    std::binary_semaphore all_there(0);
    RETURN_IF_ERROR(driver_.Check(driver_.cuLaunchHostFunc(stream_, &HoldStream, &all_there),
                                  "cuLaunchHostFunc"));
    absl::Status status = Record(*clock_[0]);
    if (status.ok()) status = enqueue();
    if (status.ok()) status = Record(*clock_[1]);
    all_there.release();
    const absl::Status done = Synchronize();  // `all_there` is needed until then
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(done);
    float milliseconds = 0;
    RETURN_IF_ERROR(driver_.Check(
        driver_.cuEventElapsedTime(&milliseconds, clock_[0]->handle(), clock_[1]->handle()),
        "cuEventElapsedTime"));
    return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }
  absl::StatusOr<bool> IsDone() override {
    const int result = driver_.cuStreamQuery(stream_);
    if (result == kCudaErrorNotReady) return false;
    RETURN_IF_ERROR(Synchronize());  // which says what failed
    return true;
  }
  absl::Status Synchronize() override {
    const int result = driver_.cuStreamSynchronize(stream_);
    if (result != 0) return driver_.Check(result, WhatRan().c_str());
    launches_ = 0;
    return absl::OkStatus();
  }

 private:
  static void HoldStream(void* until) {
    static_cast<void>(static_cast<std::binary_semaphore*>(until)->try_acquire_for(kLongestHold));
  }

  // Since the last time that all was well.
  std::string WhatRan() const {
    if (launches_ == 0) return "cuStreamSynchronize";
    if (launches_ == 1) return fmt::format("the kernel of `{}`", last_);
    return fmt::format(
        "a kernel between those of `{}` and `{}` (CUDA_LAUNCH_BLOCKING=1 tells which)", first_,
        last_);
  }

  const CudaDriver& driver_;
  const DeviceProperties& properties_;
  void* stream_;
  std::array<std::unique_ptr<CudaEvent>, 2> clock_;  // made when first needed
  int64_t launches_ = 0;
  std::string_view first_, last_;  // names that the launches' owner keeps
};

constexpr size_t kLogBytes = 4096;
constexpr size_t kUuidBytes = 16;
constexpr int kNewestMachineCode = 9;  // the major number of the newest target we assemble for

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, int device) : driver_(driver), device_(device) {}
  ~CudaDevice() override {
    if (context_ != nullptr) driver_.cuDevicePrimaryCtxRelease_v2(device_);
  }

  absl::Status Open() {
    RETURN_IF_ERROR(driver_.Check(driver_.cuDevicePrimaryCtxRetain(&context_, device_),
                                  "cuDevicePrimaryCtxRetain"));
    RETURN_IF_ERROR(Enter());
    char name[256] = "";
    driver_.cuDeviceGetName(name, sizeof name, device_);
    properties_.name = name;
    properties_.uuid.resize(kUuidBytes);
    if (driver_.cuDeviceGetUuid_v2(properties_.uuid.data(), device_) != 0) properties_.uuid.clear();
    properties_.compute_major = Attribute(kCudaComputeMajor);
    properties_.compute_minor = Attribute(kCudaComputeMinor);
    properties_.driver_version = driver_.version;
    properties_.multiprocessors = Attribute(kCudaMultiprocessorCount);
    properties_.max_threads_per_block = Attribute(kCudaMaxThreadsPerBlock);
    properties_.shared_bytes_per_block = Attribute(kCudaMostSharedPerBlock);
    size_t bytes = 0;
    driver_.cuDeviceTotalMem_v2(&bytes, device_);
    properties_.memory_bytes = static_cast<int64_t>(bytes);
    return absl::OkStatus();
  }
  const DeviceProperties& properties() const override { return properties_; }
  absl::Status Enter() override {
    return driver_.Check(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  }

  absl::StatusOr<DevicePtr> Allocate(int64_t bytes) override {
    uint64_t address = 0;
    if (bytes == 0) return DevicePtr{0};
    const int result = driver_.cuMemAlloc_v2(&address, static_cast<size_t>(bytes));
    if (result == 0) return address;
    size_t free = 0, total = 0;
    driver_.cuMemGetInfo_v2(&free, &total);
    return driver_.Check(result, fmt::format("allocation of {} bytes on the device ({} of {} free)",
                                             bytes, free, total)
                                     .c_str());
  }
  absl::Status Free(DevicePtr address) override {
    if (address == 0) return absl::OkStatus();
    return driver_.Check(driver_.cuMemFree_v2(address), "cuMemFree");
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    RETURN_IF_ERROR(
        driver_.Check(driver_.cuMemHostAlloc(&memory, static_cast<size_t>(bytes), 0),
                      fmt::format("allocation of {} bytes of pinned host memory", bytes).c_str()));
    return memory;
  }
  absl::Status FreeHost(void* memory) override {
    if (memory == nullptr) return absl::OkStatus();
    return driver_.Check(driver_.cuMemFreeHost(memory), "cuMemFreeHost");
  }
  absl::Status WaitFor(Event& event) override {
    return driver_.Check(driver_.cuEventSynchronize(static_cast<CudaEvent&>(event).handle()),
                         "cuEventSynchronize");
  }
  absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) override {
    void* handle = nullptr;
    // Machine code is of one generation; the driver translates PTX for those after it.
    const bool fits = !code.cubin.empty() && properties_.compute_major <= kNewestMachineCode;
    const std::string& image = fits || code.ptx.empty() ? code.cubin : code.ptx;
    std::string log(kLogBytes, '\0');
    int keys[] = {kCudaJitErrorLog, kCudaJitErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes)};
    const int result = driver_.cuModuleLoadDataEx(&handle, image.c_str(), 2, keys, values);
    if (result != 0) {
      log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
      return driver_.Check(
          result, fmt::format("cuModuleLoadDataEx{}{}", log.empty() ? "" : ": ", log).c_str());
    }
    auto module = std::make_unique<CudaModule>(driver_, handle);
    for (const KernelEntry& entry : code.kernels)
      RETURN_IF_ERROR(module->Add(entry, code.waits, properties_));
    return std::unique_ptr<DeviceModule>(std::move(module));
  }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override {
    void* stream = nullptr;
    RETURN_IF_ERROR(
        driver_.Check(driver_.cuStreamCreate(&stream, kCudaStreamNonBlocking), "cuStreamCreate"));
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(driver_, properties_, stream));
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return MakeEvent(driver_, kCudaEventNoTiming);
  }

 private:
  int Attribute(int number) const {
    int value = 0;
    driver_.cuDeviceGetAttribute(&value, number, device_);
    return value;
  }
  const CudaDriver& driver_;
  int device_;
  void* context_ = nullptr;
  DeviceProperties properties_;
};

}  // namespace

absl::StatusOr<int> CountCudaDevices() {
  ASSIGN_OR_RETURN(const CudaDriver* const driver, LoadCudaDriver());
  int count = 0;
  RETURN_IF_ERROR(driver->Check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(int ordinal) {
  ASSIGN_OR_RETURN(const CudaDriver* const driver, LoadCudaDriver());
  ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  if (ordinal >= count) {
    return MakeError(
        absl::StatusCode::kUnavailable, SourceLoc(),
        fmt::format("platform `gpu` is not available: the driver knows {} devices", count));
  }
  int number = 0;
  RETURN_IF_ERROR(driver->Check(driver->cuDeviceGet(&number, ordinal), "cuDeviceGet"));
  auto device = std::make_unique<CudaDevice>(*driver, number);
  RETURN_IF_ERROR(device->Open());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace hlo::gpu
