#include "backends/gpu/device/caching_device.h"

#include <algorithm>
#include <bit>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {

CachingDevice::~CachingDevice() { Trim().IgnoreError(); }

int64_t CachingDevice::RoundedSize(int64_t bytes) {
  constexpr int64_t kSmallest = 4096;
  if (bytes <= kSmallest) return kSmallest;
  const auto quarter = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes - 1))) / 4;
  return RoundUp(bytes, quarter);
}

template <class T, class Make>
absl::StatusOr<T> CachingDevice::Take(Blocks<T>& blocks, int64_t bytes, const Make& make) {
  if (bytes == 0) return T{};
  const int64_t size = RoundedSize(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<T>& idle = blocks.idle[size];
  T block = {};
  if (!idle.empty()) {
    block = idle.back();
    idle.pop_back();
  } else {
    absl::StatusOr<T> made = make(size);
    if (made.status().code() == absl::StatusCode::kResourceExhausted) {
      RETURN_IF_ERROR(TrimLocked());
      made = make(size);
    }
    if (!made.ok()) return made.status();
    block = *made;
  }
  blocks.used[block] = size;
  return block;
}

template <class T>
absl::Status CachingDevice::Give(Blocks<T>& blocks, T block) {
  if (block == T{}) return absl::OkStatus();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = blocks.used.find(block);
  RET_CHECK(it != blocks.used.end(), "free of memory that is not allocated");
  blocks.idle[it->second].push_back(block);
  blocks.used.erase(it);
  return absl::OkStatus();
}

absl::StatusOr<DevicePtr> CachingDevice::Allocate(int64_t bytes) {
  return Take(memory_, bytes, [this](int64_t size) { return device_->Allocate(size); });
}

absl::Status CachingDevice::Free(DevicePtr address) { return Give(memory_, address); }

absl::StatusOr<void*> CachingDevice::AllocateHost(int64_t bytes) {
  return Take(host_, bytes, [this](int64_t size) { return device_->AllocateHost(size); });
}

absl::Status CachingDevice::FreeHost(void* memory) { return Give(host_, memory); }

absl::Status CachingDevice::Trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return TrimLocked();
}

absl::Status CachingDevice::TrimLocked() {
  for (auto& [size, idle] : memory_.idle) {
    for (const DevicePtr address : idle) RETURN_IF_ERROR(device_->Free(address));
    idle.clear();
  }
  for (auto& [size, idle] : host_.idle) {
    for (void* const memory : idle) RETURN_IF_ERROR(device_->FreeHost(memory));
    idle.clear();
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
