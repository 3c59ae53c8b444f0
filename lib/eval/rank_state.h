// What a process of a distributed run says of itself now and then, so that it is found when no
// device of any process can go on.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/eval/stuck_report.h"
#include "lib/eval/wire.h"

namespace hlo {

struct RankState {
  int64_t run = -1;
  // The process has ended: it comes to no run any more.
  bool has_ended = false;
  // Whether all its devices wait or have finished. Only a message can change that.
  bool is_blocked = false;
  // Messages of this run that a device may wait for, to and from each rank.
  std::vector<int64_t> sent, received;
  std::vector<WaitingDevice> waiting;

  void WriteTo(WireWriter& writer) const;
  static RankState ReadFrom(WireReader& reader);
};

// Whether no process goes on in this run. That all are blocked is not enough, as they have looked
// at different times: a message may have been on its way. But where each has received all that the
// others had sent when they looked, none can have been the first to be woken after its look.
bool NobodyGoesOn(const std::vector<RankState>& ranks, int64_t run);

}  // namespace hlo
