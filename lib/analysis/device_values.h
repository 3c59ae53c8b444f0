// What an integer scalar is on each device, where it depends on nothing but the device, and in a
// loop on how far that has counted.
//
//   multiply(replica-id(), 4)                                        4 * replica
//   reshape(dynamic-slice(constant({0, 1, 0, 1}), replica-id()))     replica % 2
//   remainder(add(get-tuple-element(p, 4), partition-id()), 4)       (counter + partition) % 4
//
// This is how programs say which part of an array is a device's own. O(instructions it is computed
// from) for each device.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/ir/module.h"

namespace hlo {

struct DeviceId {
  int64_t replica = 0;
  int64_t partition = 0;
};
// The device with this number (device_groups.h).
inline DeviceId DeviceOf(int64_t device, const ModuleConfig& config) {
  return {device / config.num_partitions, device % config.num_partitions};
}

// What a loop that `x` stands in has counted to: element `index` of its state.
struct LoopCounter {
  int64_t index = 0;
  int64_t value = 0;
};

// The value of `x`, an array of one integer, on `device`; none when it depends on something else.
std::optional<int64_t> DeviceValue(const Instruction& x, DeviceId device,
                                   std::optional<LoopCounter> counter = std::nullopt);

}  // namespace hlo
