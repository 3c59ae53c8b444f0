// Arrays in the memory of a device that a run made there, or took from the host, for further runs
// (backends/common/buffer_run.h).
//
// What a run makes lies in the run's own memory, which the next run writes anew: it is resident
// there. Before that happens it moves to memory of its own, unless nobody wants it any more.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/host_buffer.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

class DeviceArray final : public RemoteArray {
 public:
  using Residents = std::vector<DeviceArray*>;

  // A copy of `value` as an array of `shape`.
  static absl::StatusOr<std::shared_ptr<DeviceArray>> Of(std::shared_ptr<Device> device,
                                                         const Literal& value, Shape shape);
  // An array at `address`, which is another's memory; is one of its residents until it moves.
  DeviceArray(std::shared_ptr<Device> device, DevicePtr address, int64_t bytes,
              Residents* residents);
  ~DeviceArray() override;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  absl::StatusOr<Literal> ToLiteral(Shape shape) const override;

  const Device* device() const { return device_.get(); }
  DevicePtr address() const { return address_; }
  bool is_resident() const { return residents_ != nullptr; }
  // To memory of its own. All that writes the array must be done.
  absl::Status Move();
  // Its memory goes, and cannot be read from then on.
  void Lose();
  bool is_lost() const { return address_ == 0; }

 private:
  void Leave();

  std::shared_ptr<Device> device_;
  DevicePtr address_;
  int64_t bytes_;
  Residents* residents_;  // null: the memory is its own
};

}  // namespace hlo::gpu
