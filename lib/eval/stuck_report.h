// What is said when devices wait for others in vain.
//
//   f.hlo:7:3: error: the devices cannot go on: device 0 waits at `sum` (all-reduce, channel 1) for
//   device 1
//   f.hlo:9:3: note: device 1 waits at `all` (all-gather) for device 0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/instruction.h"

namespace hlo {

struct WaitingDevice {
  int64_t device = 0;
  SourceLoc loc;
  std::string place;             // "`sum` (all-reduce, channel 1)"
  std::vector<int64_t> missing;  // whom it waits for
};
WaitingDevice WaitsAt(int64_t device, const Instruction& instruction, std::vector<int64_t> missing);

// "device 3", "devices 0, 2 and 4 to 7", for a noun and numbers in order.
std::string NumberedList(std::string_view noun, const std::vector<int64_t>& numbers);

// `what` stands in front of the first message. `finished` and `busy`: devices that will not come,
// and those that may. `rank_of`: the process that runs a device, where there are several:
//
//   device 0 of rank 0 waits at `sum` (all-reduce, channel 1) for device 1 of rank 1
absl::Status StuckReport(std::string_view what, const std::vector<WaitingDevice>& waiting,
                         const std::vector<int64_t>& finished, const std::vector<int64_t>& busy,
                         const std::function<int(int64_t device)>& rank_of = nullptr);

}  // namespace hlo
