// backends/gpu/device/device.h
//
// What the GPU platform needs of a device. Three implementations: the CUDA driver (cuda_device.h),
// a simulator that executes the kernels' LLVM IR on the CPU (sim/simulated_device.h), and a
// recording fake that checks how the interface is used (recording_device.h).
//
// The model is CUDA's: memory is a flat space of 64-bit addresses, work is put on streams in order
// and done later, events order streams against each other, Synchronize waits. A failing kernel
// makes the stream's Synchronize fail; what was put after it does not run.
//
// Host memory given to copies must stay alive and unchanged until the stream is synchronised.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/common/stream.h"

namespace hlo::gpu {

using DevicePtr = uint64_t;
// What Device::Allocate aligns to, in bytes; arrays that share an allocation are laid out by it.
inline constexpr int64_t kMemoryAlignment = 256;

struct LaunchDims {
  std::array<int64_t, 3> grid = {1, 1, 1};
  int block = 1;                         // threads, along x
  std::array<int, 2> block_yz = {1, 1};  // more than 1 in kernels that others wrote
  int64_t threads() const { return int64_t{block} * block_yz[0] * block_yz[1]; }
};

// A kernel as the emitters wrote it. Equal bitcode, equal kernel: some instructions share it.
struct UniqueKernel {
  std::string name;         // of the first instruction that wants it
  std::string bitcode;      // its function is kKernelName
  std::string symbol = {};  // of its function where all kernels are one module (kernel_names.h)
};
inline constexpr char kKernelName[] = "kernel";

// A kernel of loaded code.
struct KernelEntry {
  std::string name;
  // Shared memory of a block that its launch brings, besides what the kernel declares itself.
  int64_t shared_bytes = 0;
};

// Kernels in the forms that devices take; a device uses the one it understands.
struct DeviceCode {
  std::string bitcode;  // LLVM IR as the emitters wrote it
  std::string ptx;
  std::string cubin;
  std::vector<KernelEntry> kernels;
  bool waits = false;  // each waits itself for what was launched before it
};

struct DeviceProperties {
  std::string name;
  std::string uuid;  // 16 bytes, unlike those of any other GPU; empty where it is none
  int compute_major = 9;
  int compute_minor = 0;
  int multiprocessors = 1;
  int driver_version = 0;  // 12080 is 12.8; 0: no driver
  int64_t memory_bytes = 0;
  int64_t shared_bytes_per_block = 227 * 1024;  // the most that a kernel may ask for
  int max_threads_per_block = 1024;
};

class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
};

// Loaded code. Must outlive all launches of its kernels.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  virtual absl::StatusOr<const DeviceKernel*> Find(std::string_view name) const = 0;
};

// An argument of a kernel: a buffer, or a 64-bit integer.
struct KernelArgument {
  enum class Kind : uint8_t { kBuffer, kInteger };
  Kind kind = Kind::kBuffer;
  uint64_t value = 0;
  int64_t bytes = 0;  // of a buffer: what the kernel may touch
  static KernelArgument Buffer(DevicePtr address, int64_t bytes) {
    return {Kind::kBuffer, address, bytes};
  }
  static KernelArgument Integer(int64_t value) {
    return {Kind::kInteger, static_cast<uint64_t>(value), 0};
  }
};

struct Launch {
  const DeviceKernel* kernel = nullptr;
  LaunchDims dims;
  absl::Span<const KernelArgument> arguments;
  std::string_view name;  // the HLO instruction, for messages
  bool overlaps = false;  // may be launched before its predecessor ends, if its code waits for that
};

class Event {
 public:
  virtual ~Event() = default;
};

// What was put on a stream, to be put there again as a whole.
class Graph {
 public:
  virtual ~Graph() = default;
};

class Stream : public hlo::Stream {
 public:
  virtual absl::Status LaunchKernel(const Launch& launch) = 0;
  virtual absl::Status CopyToDevice(DevicePtr destination, const void* source, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void* destination, DevicePtr source, int64_t bytes) = 0;
  virtual absl::Status CopyOnDevice(DevicePtr destination, DevicePtr source, int64_t bytes) = 0;
  virtual absl::Status Fill(DevicePtr destination, uint8_t value, int64_t bytes) = 0;
  // Marks this point of the stream; the event may be recorded again later.
  virtual absl::Status Record(Event& event) = 0;
  // What follows on this stream waits for the event's last recording.
  virtual absl::Status Wait(Event& event) = 0;
  // Between BeginCapture and EndCapture nothing runs; EndCapture gives what was put on the stream.
  // Only where CanCapture: on devices that work beside the host.
  virtual bool CanCapture() const { return false; }
  virtual absl::Status BeginCapture();
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture();
  virtual absl::Status LaunchGraph(const Graph& graph);
  // Whether all that the stream was given is done. Devices that work only when somebody waits wait.
  virtual absl::StatusOr<bool> IsDone();
  // A CUstream, for libraries; null where there is none.
  virtual void* native_handle() { return nullptr; }
};

class Device {
 public:
  virtual ~Device() = default;
  // Makes the calling thread one that may use the device. Any number of threads may at the same
  // time, each with streams and events of its own.
  virtual absl::Status Enter() { return absl::OkStatus(); }
  virtual const DeviceProperties& properties() const = 0;
  // Memory aligned to kMemoryAlignment. Zero bytes give address 0.
  virtual absl::StatusOr<DevicePtr> Allocate(int64_t bytes) = 0;
  virtual absl::Status Free(DevicePtr address) = 0;
  // Memory of the host that the device copies from and to while the host does other things.
  virtual absl::StatusOr<void*> AllocateHost(int64_t bytes) = 0;
  virtual absl::Status FreeHost(void* memory) = 0;
  virtual absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream() = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> CreateEvent() = 0;
  // Waits until the event's last recording is reached.
  virtual absl::Status WaitFor(Event& event) = 0;
};

// Refuses launches that no device of compute capability 9.0 takes.
absl::Status CheckLaunch(const Launch& launch, const DeviceProperties& properties);
// Refuses a kernel whose blocks need more shared memory than the device has for one.
absl::Status CheckSharedMemory(std::string_view kernel, int64_t bytes,
                               const DeviceProperties& properties);

}  // namespace hlo::gpu
