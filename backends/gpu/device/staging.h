// Copies between memory of the host and the device by way of pinned memory, which the device reads
// and writes at full speed while the host does other things. A few slots are used in turns; nothing
// is allocated once it is made.
#pragma once

#include <array>
#include <memory>

#include "backends/gpu/device/device.h"

namespace hlo::gpu {

class Staging final {
 public:
  // For copies of up to `largest` bytes, which may be cut into several.
  static absl::StatusOr<std::unique_ptr<Staging>> Make(Device& device, int64_t largest);
  ~Staging();

  // The source may change as soon as this returns.
  absl::Status ToDevice(Stream& stream, DevicePtr destination, const void* source, int64_t bytes);
  // The destination is filled when Finish returns.
  absl::Status ToHost(Stream& stream, void* destination, DevicePtr source, int64_t bytes);
  absl::Status Finish();

  static constexpr int64_t kMostSlotBytes = int64_t{4} << 20;

 private:
  struct Slot {
    std::byte* memory = nullptr;
    std::unique_ptr<Event> event;  // after the copies of the slot
    bool pending = false;          // the event was recorded, and nobody has waited for it
    int64_t used = 0;              // bytes of it that hold something for the device
    void* destination = nullptr;   // of what the device writes into it
    int64_t bytes = 0;
  };
  explicit Staging(Device& device) : device_(device) {}
  // Waits for what uses the slot, and hands over what came from the device.
  absl::Status Settle(Slot& slot);

  Device& device_;
  int64_t slot_bytes_ = 0;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
};

}  // namespace hlo::gpu
