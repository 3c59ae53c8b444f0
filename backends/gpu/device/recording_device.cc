#include "backends/gpu/device/recording_device.h"

#include <algorithm>
#include <cstring>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class RecordedKernel final : public DeviceKernel {};

class RecordedModule final : public DeviceModule {
 public:
  explicit RecordedModule(const DeviceCode& code) {
    for (const KernelEntry& entry : code.kernels) names_.push_back(entry.name);
  }
  absl::StatusOr<const DeviceKernel*> Find(std::string_view name) const override {
    RET_CHECK(std::find(names_.begin(), names_.end(), name) != names_.end(),
              "the module has no kernel `{}`", name);
    return &kernel_;
  }

 private:
  std::vector<std::string> names_;
  RecordedKernel kernel_;
};

class RecordedEvent final : public Event {
 public:
  bool recorded = false;
};

}  // namespace

class RecordingStream final : public Stream {
 public:
  RecordingStream(RecordingDevice& device, int number) : device_(device), number_(number) {}

  bool CanCapture() const override { return true; }
  absl::Status BeginCapture() override {
    captures_ = true;
    Note("begin capture");
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    captures_ = false;
    Note("end capture");
    return std::make_unique<Graph>();
  }
  absl::Status LaunchGraph(const Graph& /*graph*/) override {
    Note("launch graph");
    return absl::OkStatus();
  }

  absl::Status LaunchKernel(const Launch& launch) override {
    RETURN_IF_ERROR(CheckLaunch(launch, device_.properties_));
    for (const KernelArgument& argument : launch.arguments) {
      if (argument.kind == KernelArgument::Kind::kBuffer && argument.bytes > 0)
        RETURN_IF_ERROR(device_.CheckRange(argument.value, argument.bytes, launch.name));
    }
    Note(fmt::format("launch {} grid={} block={} arguments={}", launch.name, launch.dims.grid[0],
                     launch.dims.block, launch.arguments.size()));
    return absl::OkStatus();
  }
  absl::Status CopyToDevice(DevicePtr destination, const void* source, int64_t bytes) override {
    RET_CHECK(source != nullptr || bytes == 0, "copy of {} bytes from null", bytes);
    RETURN_IF_ERROR(device_.CheckRange(destination, bytes, "copy to the device"));
    Note(fmt::format("copy to device {}", bytes));
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* destination, DevicePtr source, int64_t bytes) override {
    RETURN_IF_ERROR(device_.CheckRange(source, bytes, "copy to the host"));
    if (bytes > 0) std::memset(destination, 0, static_cast<size_t>(bytes));
    Note(fmt::format("copy to host {}", bytes));
    return absl::OkStatus();
  }
  absl::Status CopyOnDevice(DevicePtr destination, DevicePtr source, int64_t bytes) override {
    RETURN_IF_ERROR(device_.CheckRange(source, bytes, "copy"));
    RETURN_IF_ERROR(device_.CheckRange(destination, bytes, "copy"));
    Note(fmt::format("copy {}", bytes));
    return absl::OkStatus();
  }
  absl::Status Fill(DevicePtr destination, uint8_t value, int64_t bytes) override {
    RETURN_IF_ERROR(device_.CheckRange(destination, bytes, "fill"));
    Note(fmt::format("fill {} {}", bytes, value));
    return absl::OkStatus();
  }
  absl::Status Record(Event& event) override {
    static_cast<RecordedEvent&>(event).recorded = true;
    Note("record");
    return absl::OkStatus();
  }
  absl::Status Wait(Event& event) override {
    RET_CHECK(static_cast<RecordedEvent&>(event).recorded,
              "stream {} waits for an event that was never recorded", number_);
    Note("wait");
    return absl::OkStatus();
  }
  bool HasClock() const override { return true; }
  absl::StatusOr<int64_t> Time(absl::FunctionRef<absl::Status()> enqueue) override {
    Note("start the clock");
    const auto before = std::ssize(device_.calls());
    RETURN_IF_ERROR(enqueue());
    const auto calls = std::ssize(device_.calls()) - before;
    Note("stop the clock");
    RETURN_IF_ERROR(Synchronize());
    return calls * kNanosecondsOfCall;
  }
  absl::Status Synchronize() override {
    RET_CHECK(!captures_, "a wait for a stream whose work is captured");
    Note("synchronize");
    return absl::OkStatus();
  }

 private:
  void Note(const std::string& call) { device_.Note(fmt::format("s{}: {}", number_, call)); }
  RecordingDevice& device_;
  static constexpr int64_t kNanosecondsOfCall = 1000;  // by its clock
  int number_;
  bool captures_ = false;
};

RecordingDevice::RecordingDevice() {
  properties_.name = "recording";
  properties_.memory_bytes = int64_t{1} << 34;
  properties_.multiprocessors = 132;
}

absl::StatusOr<DevicePtr> RecordingDevice::Allocate(int64_t bytes) {
  Note(fmt::format("allocate {}", bytes));
  if (bytes == 0) return DevicePtr{0};
  if (fail_allocation_) {
    fail_allocation_ = false;
    return absl::ResourceExhaustedError(fmt::format("no {} bytes of device memory", bytes).c_str());
  }
  const DevicePtr address = next_address_;
  next_address_ += static_cast<DevicePtr>(RoundUp(bytes, 256)) + 256;
  memory_[address].resize(static_cast<size_t>(bytes));
  return address;
}

absl::Status RecordingDevice::Free(DevicePtr address) {
  Note("free");
  if (address == 0) return absl::OkStatus();
  RET_CHECK(memory_.erase(address) == 1, "free of {:#x}, which is not allocated", address);
  return absl::OkStatus();
}

absl::StatusOr<void*> RecordingDevice::AllocateHost(int64_t bytes) {
  Note(fmt::format("allocate on the host {}", bytes));
  auto memory = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
  void* const address = memory.get();
  host_[address] = std::move(memory);
  return address;
}

absl::Status RecordingDevice::FreeHost(void* memory) {
  Note("free on the host");
  RET_CHECK(memory == nullptr || host_.erase(memory) == 1, "free of host memory not allocated");
  return absl::OkStatus();
}

absl::Status RecordingDevice::WaitFor(Event& event) {
  RET_CHECK(static_cast<RecordedEvent&>(event).recorded,
            "the host waits for an event that was never recorded");
  Note("wait for an event");
  return absl::OkStatus();
}

absl::Status RecordingDevice::CheckRange(DevicePtr address, int64_t bytes,
                                         std::string_view use) const {
  if (bytes == 0) return absl::OkStatus();
  auto it = memory_.upper_bound(address);
  RET_CHECK(it != memory_.begin(), "`{}` uses {:#x}, which is not allocated", use, address);
  --it;
  RET_CHECK(address + static_cast<uint64_t>(bytes) <= it->first + it->second.size(),
            "`{}` uses {} bytes at {:#x}, which is not allocated", use, bytes, address);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceModule>> RecordingDevice::LoadModule(const DeviceCode& code) {
  Note(fmt::format("load {} kernels", code.kernels.size()));
  return std::unique_ptr<DeviceModule>(std::make_unique<RecordedModule>(code));
}

absl::StatusOr<std::unique_ptr<Stream>> RecordingDevice::CreateStream() {
  return std::unique_ptr<Stream>(std::make_unique<RecordingStream>(*this, streams_++));
}

absl::StatusOr<std::unique_ptr<Event>> RecordingDevice::CreateEvent() {
  return std::unique_ptr<Event>(std::make_unique<RecordedEvent>());
}

}  // namespace hlo::gpu
