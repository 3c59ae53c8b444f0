// A device that keeps freed memory, of its own and pinned memory of the host, and gives it out
// again: executables that follow each other, or are made again, ask the driver for none. Sizes are
// rounded up to one of four per doubling. When the device is full, what is kept is freed first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/gpu/device/device.h"

namespace hlo::gpu {

class CachingDevice final : public Device {
 public:
  explicit CachingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  ~CachingDevice() override;

  const DeviceProperties& properties() const override { return device_->properties(); }
  absl::Status Enter() override { return device_->Enter(); }
  absl::StatusOr<DevicePtr> Allocate(int64_t bytes) override;
  absl::Status Free(DevicePtr address) override;
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override;
  absl::Status FreeHost(void* memory) override;
  absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) override {
    return device_->LoadModule(code);
  }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override {
    return device_->CreateStream();
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override { return device_->CreateEvent(); }
  absl::Status WaitFor(Event& event) override { return device_->WaitFor(event); }

  // Frees what nobody uses.
  absl::Status Trim();

  // The size that is asked for instead of `bytes`.
  static int64_t RoundedSize(int64_t bytes);

 private:
  template <class T>
  struct Blocks {
    std::map<int64_t, std::vector<T>> idle;  // by rounded size
    std::map<T, int64_t> used;               // their rounded sizes
  };
  template <class T, class Make>
  absl::StatusOr<T> Take(Blocks<T>& blocks, int64_t bytes, const Make& make);
  template <class T>
  absl::Status Give(Blocks<T>& blocks, T block);
  absl::Status TrimLocked();

  std::unique_ptr<Device> device_;
  std::mutex mutex_;
  Blocks<DevicePtr> memory_;
  Blocks<void*> host_;
};

}  // namespace hlo::gpu
