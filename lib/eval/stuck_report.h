// What is said when devices wait for others in vain.
//
//   f.hlo:7:3: error: the devices cannot go on: device 0 waits at `sum` (all-reduce, channel 1) for
//   device 1
//   f.hlo:9:3: note: device 1 waits at `all` (all-gather) for device 0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/instruction.h"

namespace hlo {

struct WaitingDevice {
  int64_t device = 0;
  const Instruction* instruction = nullptr;
  std::vector<int64_t> missing;  // whom it waits for
};

// `what` stands in front of the first message. `finished` and `busy`: devices that will not come,
// and those that may.
absl::Status StuckReport(std::string_view what, const std::vector<WaitingDevice>& waiting,
                         const std::vector<int64_t>& finished, const std::vector<int64_t>& busy);

}  // namespace hlo
