#include "backends/gpu/device_array.h"

#include <algorithm>

#include "lib/support/status.h"

namespace hlo::gpu {

absl::StatusOr<std::shared_ptr<DeviceArray>> DeviceArray::Of(std::shared_ptr<Device> device,
                                                             const Literal& value) {
  RETURN_IF_ERROR(device->Enter());
  ASSIGN_OR_RETURN(const DevicePtr address, device->Allocate(value.byte_size()));
  auto array =
      std::make_shared<DeviceArray>(std::move(device), address, value.byte_size(), nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, array->device_->CreateStream());
  RETURN_IF_ERROR(stream->CopyToDevice(address, value.data(), value.byte_size()));
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
  Literal value(shape);
  RET_CHECK(value.byte_size() == bytes_, "an array of {} bytes as {}", bytes_, shape);
  RETURN_IF_ERROR(device_->Enter());
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
  RETURN_IF_ERROR(stream->CopyToHost(value.mutable_data(), address_, bytes_));
  RETURN_IF_ERROR(stream->Synchronize());
  return value;
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
