#include "backends/gpu/device_array.h"

#include <algorithm>

#include "backends/common/stored_array.h"
#include "lib/support/status.h"

namespace hlo::gpu {

absl::StatusOr<std::shared_ptr<DeviceArray>> DeviceArray::Of(std::shared_ptr<Device> device,
                                                             const Literal& value, Shape shape) {
  std::vector<std::byte> copy;
  ASSIGN_OR_RETURN(const void* const stored, StoredForm(value, shape, copy));
  const int64_t bytes = StoredBytes(shape);
  RETURN_IF_ERROR(device->Enter());
  ASSIGN_OR_RETURN(const DevicePtr address, device->Allocate(bytes));
  auto array = std::make_shared<DeviceArray>(std::move(device), address, bytes, nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, array->device_->CreateStream());
  RETURN_IF_ERROR(stream->CopyToDevice(address, stored, bytes));
  RETURN_IF_ERROR(stream->Synchronize());
  return array;
}

DeviceArray::DeviceArray(std::shared_ptr<Device> device, DevicePtr address, int64_t bytes,
                         Residents* residents)
    : device_(std::move(device)), address_(address), bytes_(bytes), residents_(residents) {
  if (residents_ != nullptr) residents_->push_back(this);
}

DeviceArray::~DeviceArray() {
  if (residents_ != nullptr) {
    Leave();
    return;
  }
  device_->Enter().IgnoreError();
  device_->Free(address_).IgnoreError();
}

absl::StatusOr<Literal> DeviceArray::ToLiteral(Shape shape) const {
  RET_CHECK(!is_lost(), "the array was lost with the run that made it");
  RET_CHECK(StoredBytes(shape) == bytes_, "an array of {} bytes as {}", bytes_, shape);
  RETURN_IF_ERROR(device_->Enter());
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
  const bool has_sizes = shape.has_dynamic_dims();
  Literal value = has_sizes ? Literal() : Literal(shape);
  std::vector<std::byte> stored(has_sizes ? static_cast<size_t>(bytes_) : 0);
  void* const to = has_sizes ? static_cast<void*>(stored.data()) : value.mutable_data();
  RETURN_IF_ERROR(stream->CopyToHost(to, address_, bytes_));
  RETURN_IF_ERROR(stream->Synchronize());
  return has_sizes ? LoadArray(shape, stored.data()) : std::move(value);
}

absl::Status DeviceArray::Move() {
  if (residents_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
  ASSIGN_OR_RETURN(const DevicePtr own, device_->Allocate(bytes_));
  absl::Status copied = stream->CopyOnDevice(own, address_, bytes_);
  copied.Update(stream->Synchronize());
  if (!copied.ok()) {
    device_->Free(own).IgnoreError();
    return copied;
  }
  Leave();
  address_ = own;
  return absl::OkStatus();
}

void DeviceArray::Lose() {
  Leave();
  address_ = 0;
}

void DeviceArray::Leave() {
  residents_->erase(std::find(residents_->begin(), residents_->end(), this));
  residents_ = nullptr;
}

}  // namespace hlo::gpu
