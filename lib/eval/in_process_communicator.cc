#include "lib/eval/in_process_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/eval/stuck_report.h"
#include "lib/support/status.h"

namespace hlo {

std::vector<int64_t> InProcessCommunicator::own_devices() const {
  std::vector<int64_t> all(static_cast<size_t>(mesh_.devices()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void InProcessCommunicator::Restart() {
  open_.clear();
  messages_.clear();
  waits_.clear();
  has_left_.assign(static_cast<size_t>(mesh_.devices()), false);
  left_ = 0;
  threads_.assign(has_left_.size(), 1);
  failure_ = absl::OkStatus();
  has_failed_ = false;
}

absl::Status InProcessCommunicator::Failure() const {
  if (!has_failed_.load(std::memory_order_acquire)) return absl::OkStatus();
  const Lock lock(mutex_);
  return failure_;
}

template <class Put>
absl::StatusOr<InProcessCommunicator::Arrival> InProcessCommunicator::Arrive(
    int64_t device, const Instruction& instruction, const std::vector<int64_t>& group,
    const Put& put) {
  const auto place = std::find(group.begin(), group.end(), device);
  RET_CHECK(place != group.end(), "device {} is in no group of `{}`", device, instruction.name());
  const auto self = static_cast<size_t>(place - group.begin());
  Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  std::shared_ptr<Rendezvous>& open = open_[{&instruction, group.front()}];
  if (open == nullptr) {
    open = std::make_shared<Rendezvous>();
    open->group = group;
    open->operands.resize(group.size());
    open->places.resize(group.size());
    open->is_here.resize(group.size());
  }
  std::shared_ptr<Rendezvous> rendezvous = open;
  put(*rendezvous, self);
  rendezvous->is_here[self] = true;
  ++rendezvous->arrived;
  if (rendezvous->is_complete()) {
    std::erase_if(waits_, [&](const auto& item) { return item.second.rendezvous == rendezvous; });
    open_.erase({&instruction, group.front()});
    changed_.notify_all();
  } else {
    RETURN_IF_ERROR(WaitUntil(lock, {device, &instruction, rendezvous, std::nullopt},
                              [&] { return rendezvous->is_complete(); }));
  }
  return Arrival{std::move(rendezvous), self};
}

absl::StatusOr<Literal> InProcessCommunicator::Meet(int64_t device, const Instruction& instruction,
                                                    const std::vector<int64_t>& group,
                                                    std::vector<Literal> operands,
                                                    const Compute& compute) {
  ASSIGN_OR_RETURN(const Arrival arrival,
                   Arrive(device, instruction, group, [&](Rendezvous& rendezvous, size_t self) {
                     rendezvous.operands[self] = std::move(operands);
                   }));
  return compute(arrival.rendezvous->operands, arrival.self);
}

absl::StatusOr<bool> InProcessCommunicator::MeetInMemory(int64_t device,
                                                         const Instruction& instruction,
                                                         const std::vector<int64_t>& group,
                                                         Places own, const Work& work) {
  ASSIGN_OR_RETURN(const Arrival arrival,
                   Arrive(device, instruction, group, [&](Rendezvous& rendezvous, size_t self) {
                     rendezvous.places[self] = std::move(own);
                   }));
  Rendezvous& rendezvous = *arrival.rendezvous;
  work(rendezvous.places, arrival.self);
  Lock lock(mutex_);
  const auto all_done = [&] { return rendezvous.done == rendezvous.group.size(); };
  ++rendezvous.done;
  // Even after an error elsewhere: others still use this device's memory.
  if (all_done()) {
    rendezvous.all_done.notify_all();
  } else {
    rendezvous.all_done.wait(lock, all_done);
  }
  return true;
}

absl::Status InProcessCommunicator::Send(const Route& route, Literal value) {
  const Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  messages_[route].push_back(std::move(value));
  std::erase_if(waits_, [&](const auto& item) { return item.second.route == route; });
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<Literal> InProcessCommunicator::Receive(const Route& route,
                                                       const Instruction& instruction) {
  Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  std::deque<Literal>& messages = messages_[route];
  if (messages.empty()) {
    RETURN_IF_ERROR(WaitUntil(lock, {route.target, &instruction, nullptr, route},
                              [&] { return !messages.empty(); }));
  }
  Literal value = std::move(messages.front());
  messages.pop_front();
  return value;
}

absl::Status InProcessCommunicator::WaitUntil(Lock& lock, Wait wait,
                                              const std::function<bool()>& is_over) {
  const int64_t number = next_wait_++;
  waits_[number] = std::move(wait);
  CheckProgress();
  const auto ends = [&] { return is_over() || !failure_.ok(); };
  if (!changed_.wait_for(lock, longest_wait_, ends)) {
    Fail(Report(fmt::format("after {} seconds ", longest_wait_.count())));
  }
  waits_.erase(number);
  return is_over() ? absl::OkStatus() : failure_;
}

void InProcessCommunicator::AddThreads(int64_t device, int count) {
  const Lock lock(mutex_);
  threads_[static_cast<size_t>(device)] += count;
  CheckProgress();
}

void InProcessCommunicator::Leave(int64_t device, absl::Status status) {
  const Lock lock(mutex_);
  if (!status.ok()) return Fail(std::move(status));
  if (!has_left_[static_cast<size_t>(device)]) ++left_;
  has_left_[static_cast<size_t>(device)] = true;
  CheckProgress();
}

void InProcessCommunicator::CheckProgress() {
  if (waits_.empty() || left_ + std::ssize(waits_) < mesh_.devices()) return;
  std::vector<int64_t> waiting(threads_.size());
  for (const auto& [number, wait] : waits_) ++waiting[static_cast<size_t>(wait.device)];
  for (size_t device = 0; device < threads_.size(); ++device) {
    if (!has_left_[device] && (waiting[device] == 0 || waiting[device] < threads_[device])) return;
  }
  Fail(Report("the devices cannot go on: "));
}

void InProcessCommunicator::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  has_failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

absl::Status InProcessCommunicator::Report(std::string_view what) const {
  std::vector<WaitingDevice> waiting;
  std::vector<bool> waits(has_left_.size());
  for (const auto& [number, wait] : waits_) {
    waits[static_cast<size_t>(wait.device)] = true;
    std::vector<int64_t> missing;
    if (wait.route) missing.push_back(wait.route->source);
    for (size_t i = 0; wait.rendezvous != nullptr && i < wait.rendezvous->group.size(); ++i) {
      if (!wait.rendezvous->is_here[i]) missing.push_back(wait.rendezvous->group[i]);
    }
    waiting.push_back(WaitsAt(wait.device, *wait.instruction, std::move(missing)));
  }
  std::vector<int64_t> finished, busy;
  for (int64_t device = 0; device < mesh_.devices(); ++device) {
    if (has_left_[static_cast<size_t>(device)]) {
      finished.push_back(device);
    } else if (!waits[static_cast<size_t>(device)]) {
      busy.push_back(device);
    }
  }
  return StuckReport(what, waiting, finished, busy);
}

}  // namespace hlo
