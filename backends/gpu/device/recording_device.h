// A device that computes nothing: it keeps host memory for allocations, writes down every call, and
// refuses calls that break the rules of the interface (a freed buffer, an event waited for before
// it was recorded, a launch out of limits, an address nobody allocated). For tests of the code that
// uses devices.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/device/device.h"

namespace hlo::gpu {

class RecordingDevice final : public Device {
 public:
  RecordingDevice();
  const DeviceProperties& properties() const override { return properties_; }
  absl::StatusOr<DevicePtr> Allocate(int64_t bytes) override;
  absl::Status Free(DevicePtr address) override;
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override;
  absl::Status FreeHost(void* memory) override;
  absl::Status WaitFor(Event& event) override;
  absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override;

  // One line per call: "allocate 256", "launch add grid=4 block=256 arguments=3", …
  const std::vector<std::string>& calls() const { return calls_; }
  // Allocations that were never freed.
  int live_allocations() const { return static_cast<int>(memory_.size() + host_.size()); }
  // Fails the next allocation, as a full device does.
  void FailNextAllocation() { fail_allocation_ = true; }

 private:
  friend class RecordingStream;
  void Note(std::string call) { calls_.push_back(std::move(call)); }
  // Whether [address, address + bytes) lies in one live allocation.
  absl::Status CheckRange(DevicePtr address, int64_t bytes, std::string_view use) const;

  DeviceProperties properties_;
  std::map<DevicePtr, std::vector<uint8_t>> memory_;
  std::map<void*, std::unique_ptr<std::byte[]>> host_;
  DevicePtr next_address_ = 0x10000;
  std::vector<std::string> calls_;
  int streams_ = 0;
  bool fail_allocation_ = false;
};

}  // namespace hlo::gpu
