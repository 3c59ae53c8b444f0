// lib/eval/host_feed.h
//
// The host's end of infeed and outfeed: values that a device takes in, in order, and values that it
// gives. Devices come at the same time.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

class HostFeed {
 public:
  virtual ~HostFeed() = default;
  // The next value for the device, of the shape that `infeed` declares without its token.
  virtual absl::StatusOr<Literal> Take(int64_t device, const Instruction& infeed) = 0;
  virtual absl::Status Give(int64_t device, const Instruction& outfeed, Literal value) = 0;
};

}  // namespace hlo
