#include "backends/gpu/device/staging.h"

#include <algorithm>
#include <cstring>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {

absl::StatusOr<std::unique_ptr<Staging>> Staging::Make(Device& device, int64_t largest) {
  constexpr int64_t kLeastSlotBytes = int64_t{64} << 10;
  std::unique_ptr<Staging> staging(new Staging(device));
  staging->slot_bytes_ = std::clamp(largest, kLeastSlotBytes, kMostSlotBytes);
  for (Slot& slot : staging->slots_) {
    ASSIGN_OR_RETURN(slot.event, device.CreateEvent());
    ASSIGN_OR_RETURN(void* const memory, device.AllocateHost(staging->slot_bytes_));
    slot.memory = static_cast<std::byte*>(memory);
  }
  return staging;
}

Staging::~Staging() {
  for (Slot& slot : slots_) {
    if (slot.pending) device_.WaitFor(*slot.event).IgnoreError();
    if (slot.memory != nullptr) device_.FreeHost(slot.memory).IgnoreError();
  }
}

absl::Status Staging::Settle(Slot& slot) {
  if (slot.pending) RETURN_IF_ERROR(device_.WaitFor(*slot.event));
  if (slot.destination != nullptr)
    std::memcpy(slot.destination, slot.memory, static_cast<size_t>(slot.bytes));
  slot.pending = false;
  slot.destination = nullptr;
  slot.used = 0;
  return absl::OkStatus();
}

absl::Status Staging::ToDevice(Stream& stream, DevicePtr destination, const void* source,
                               int64_t bytes) {
  const auto* from = static_cast<const std::byte*>(source);
  while (bytes > 0) {
    Slot* slot = &slots_[next_];
    // Small copies lie side by side in a slot.
    if (slot->destination != nullptr || slot->used == slot_bytes_ ||
        (slot->used > 0 && slot->used + std::min(bytes, slot_bytes_) > slot_bytes_)) {
      next_ = (next_ + 1) % slots_.size();
      slot = &slots_[next_];
      RETURN_IF_ERROR(Settle(*slot));
    }
    const int64_t part = std::min(bytes, slot_bytes_ - slot->used);
    std::memcpy(slot->memory + slot->used, from, static_cast<size_t>(part));
    RETURN_IF_ERROR(stream.CopyToDevice(destination, slot->memory + slot->used, part));
    RETURN_IF_ERROR(stream.Record(*slot->event));
    slot->pending = true;
    slot->used = std::min(RoundUp(slot->used + part, kMemoryAlignment), slot_bytes_);
    from += part;
    destination += static_cast<DevicePtr>(part);
    bytes -= part;
  }
  return absl::OkStatus();
}

absl::Status Staging::ToHost(Stream& stream, void* destination, DevicePtr source, int64_t bytes) {
  auto* to = static_cast<std::byte*>(destination);
  while (bytes > 0) {
    next_ = (next_ + 1) % slots_.size();
    Slot& slot = slots_[next_];
    RETURN_IF_ERROR(Settle(slot));
    const int64_t part = std::min(bytes, slot_bytes_);
    RETURN_IF_ERROR(stream.CopyToHost(slot.memory, source, part));
    RETURN_IF_ERROR(stream.Record(*slot.event));
    slot.pending = true;
    slot.used = slot_bytes_;
    slot.destination = to;
    slot.bytes = part;
    to += part;
    source += static_cast<DevicePtr>(part);
    bytes -= part;
  }
  return absl::OkStatus();
}

absl::Status Staging::Finish() {
  for (Slot& slot : slots_) RETURN_IF_ERROR(Settle(slot));
  return absl::OkStatus();
}

}  // namespace hlo::gpu
