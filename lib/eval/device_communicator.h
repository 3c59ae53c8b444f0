// lib/eval/device_communicator.h
//
// A communicator as those see it who run devices: which of them are run here, and when a run
// begins.
#pragma once

#include <vector>

#include "lib/eval/communicator.h"

namespace hlo {

class DeviceCommunicator : public Communicator {
 public:
  // Those that this process runs, in order.
  virtual std::vector<int64_t> own_devices() const = 0;
  // Another run begins. No device may be in a run.
  virtual void Restart() = 0;
  // For infeed and outfeed of the next runs.
  void set_feed(HostFeed* feed) { feed_ = feed; }
  HostFeed* feed() const final { return feed_; }

 private:
  HostFeed* feed_ = nullptr;
};

}  // namespace hlo
