// How the processes find out that none of them can go on.
#include <fmt/format.h>

#include <algorithm>

#include "lib/eval/distributed_communicator.h"
#include "lib/support/status.h"

namespace hlo {

bool DistributedCommunicator::HasLeft(int64_t device) const {
  return left_.contains({run_, device}) || states_[static_cast<size_t>(RankOf(device))].has_ended;
}

RankState DistributedCommunicator::OwnState() const {
  RankState state;
  state.run = run_;
  state.sent = sent_;
  const auto received = received_.find(run_);
  state.received =
      received == received_.end() ? std::vector<int64_t>(sent_.size()) : received->second;
  std::map<int64_t, int> waiting;
  bool is_some_over = false;
  for (const auto& [number, wait] : waits_) {
    if (wait.is_over()) {
      is_some_over = true;
      continue;
    }
    ++waiting[wait.device];
    state.waiting.push_back(WaitsAt(wait.device, *wait.instruction, wait.missing()));
  }
  const std::vector<int64_t> own = own_devices();
  state.is_blocked = !is_some_over && std::all_of(own.begin(), own.end(), [&](int64_t device) {
    const auto more = more_threads_.find(device);
    const int threads = 1 + (more == more_threads_.end() ? 0 : more->second);
    return left_.contains({run_, device}) || (waiting[device] > 0 && waiting[device] >= threads);
  });
  return state;
}

void DistributedCommunicator::Watch() {
  if (!failure_.ok()) return;
  if (transport_.rank() > 0) return TellState();
  states_[0] = OwnState();
  if (NobodyGoesOn(states_, run_)) {
    Fail(Report("the devices cannot go on: ", run_), /*from_here=*/true);
  }
}

void DistributedCommunicator::TellState() {
  WireWriter message = MessageOf(MessageKind::kState);
  message.Number(transport_.rank());
  OwnState().WriteTo(message);
  WireBytes bytes = std::move(message).Finish();
  if (bytes == told_) return;
  transport_.Send(0, bytes);
  told_ = std::move(bytes);
}

void DistributedCommunicator::CountReceived(int64_t run, int64_t rank) {
  std::vector<int64_t>& from = received_[run];
  from.resize(sent_.size());
  if (rank >= 0 && rank < std::ssize(from)) ++from[static_cast<size_t>(rank)];
}

absl::Status DistributedCommunicator::TakeState(WireReader& reader) {
  const int64_t rank = reader.Number();
  RankState state = RankState::ReadFrom(reader);
  RETURN_IF_ERROR(reader.Finish());
  RET_CHECK(rank >= 0 && rank < transport_.size() && state.sent.size() == sent_.size() &&
                state.received.size() == sent_.size(),
            "a message of another process is broken");
  states_[static_cast<size_t>(rank)] = std::move(state);
  return absl::OkStatus();
}

absl::Status DistributedCommunicator::OverdueReport(int64_t run) const {
  return Report(fmt::format("after {} seconds ", longest_wait_.count()), run);
}

absl::Status DistributedCommunicator::Report(std::string_view what, int64_t run) const {
  std::vector<RankState> states = states_;
  states[static_cast<size_t>(transport_.rank())] = OwnState();
  std::vector<WaitingDevice> waiting;
  std::set<int64_t> waiting_devices;
  for (const RankState& state : states) {
    if (state.run != run) continue;
    for (const WaitingDevice& wait : state.waiting) {
      waiting.push_back(wait);
      waiting_devices.insert(wait.device);
    }
  }
  std::vector<int64_t> finished, busy;
  for (int64_t device = 0; device < mesh_.devices(); ++device) {
    const int rank = RankOf(device);
    if (left_.contains({run, device}) || states[static_cast<size_t>(rank)].has_ended) {
      finished.push_back(device);
    } else if (!waiting_devices.contains(device) &&
               (transport_.rank() == 0 || rank == transport_.rank())) {
      busy.push_back(device);
    }
  }
  if (transport_.size() == 1) return StuckReport(what, waiting, finished, busy);
  return StuckReport(what, waiting, finished, busy,
                     [this](int64_t device) { return RankOf(device); });
}

}  // namespace hlo
