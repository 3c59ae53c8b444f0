#include "lib/eval/in_process_communicator.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// "device 3", "devices 0, 2 and 4 to 7".
std::string DeviceList(const std::vector<int64_t>& devices) {
  std::vector<std::string> ranges;
  for (size_t begin = 0, end; begin < devices.size(); begin = end) {
    end = begin + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    const int64_t first = devices[begin], last = devices[end - 1];
    if (last - first >= 2) {
      ranges.push_back(fmt::format("{} to {}", first, last));
    } else {
      for (int64_t device = first; device <= last; ++device)
        ranges.push_back(fmt::format("{}", device));
    }
  }
  std::string text = devices.size() == 1 ? "device " : "devices ";
  for (size_t i = 0; i < ranges.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
  return text;
}

std::string_view Waits(const std::vector<int64_t>& devices) {
  return devices.size() == 1 ? "waits" : "wait";
}

template <class... A>
std::optional<int64_t> ChannelIn(const AttrsPtr& attrs) {
  std::optional<int64_t> channel;
  static_cast<void>(((attrs.Is<A>() ? (channel = attrs.Get<A>().channel_id, true) : false) || ...));
  return channel;
}

std::optional<int64_t> ChannelIdOf(const Instruction& instruction) {
  return ChannelIn<AllReduceAttrs, AllGatherAttrs, ReduceScatterAttrs, AllToAllAttrs,
                   RaggedAllToAllAttrs, CollectiveBroadcastAttrs, CollectivePermuteAttrs,
                   ChannelAttrs>(instruction.attrs_ptr());
}

// "`sum` (all-reduce, channel 1)".
std::string Describe(const Instruction& instruction) {
  const std::optional<int64_t> channel = ChannelIdOf(instruction);
  const std::string suffix = channel ? fmt::format(", channel {}", *channel) : "";
  return fmt::format("`{}` ({}{})", instruction.name(), instruction.opcode_text(), suffix);
}

}  // namespace

void InProcessCommunicator::Restart() {
  open_.clear();
  messages_.clear();
  waits_.clear();
  has_left_.assign(static_cast<size_t>(mesh_.devices()), false);
  left_ = 0;
  failure_ = absl::OkStatus();
}

absl::StatusOr<Literal> InProcessCommunicator::Meet(int64_t device, const Instruction& instruction,
                                                    const std::vector<int64_t>& group,
                                                    std::vector<Literal> operands,
                                                    const Compute& compute) {
  const auto place = std::find(group.begin(), group.end(), device);
  RET_CHECK(place != group.end(), "device {} is in no group of `{}`", device, instruction.name());
  const auto self = static_cast<size_t>(place - group.begin());
  std::shared_ptr<Rendezvous> rendezvous;
  {
    Lock lock(mutex_);
    if (!failure_.ok()) return failure_;
    std::shared_ptr<Rendezvous>& open = open_[{&instruction, group.front()}];
    if (open == nullptr) {
      open = std::make_shared<Rendezvous>();
      open->group = group;
      open->operands.resize(group.size());
      open->is_here.resize(group.size());
    }
    rendezvous = open;
    rendezvous->operands[self] = std::move(operands);
    rendezvous->is_here[self] = true;
    ++rendezvous->arrived;
    if (rendezvous->is_complete()) {
      for (const int64_t member : group) waits_.erase(member);
      open_.erase({&instruction, group.front()});
      changed_.notify_all();
    } else {
      RETURN_IF_ERROR(WaitUntil(lock, device, {&instruction, rendezvous, std::nullopt},
                                [&] { return rendezvous->is_complete(); }));
    }
  }
  return compute(rendezvous->operands, self);
}

absl::Status InProcessCommunicator::Send(const Route& route, Literal value) {
  const Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  messages_[route].push_back(std::move(value));
  const auto wait = waits_.find(route.target);
  if (wait != waits_.end() && wait->second.route == route) waits_.erase(wait);
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<Literal> InProcessCommunicator::Receive(const Route& route,
                                                       const Instruction& instruction) {
  Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  std::deque<Literal>& messages = messages_[route];
  if (messages.empty()) {
    RETURN_IF_ERROR(WaitUntil(lock, route.target, {&instruction, nullptr, route},
                              [&] { return !messages.empty(); }));
  }
  Literal value = std::move(messages.front());
  messages.pop_front();
  return value;
}

absl::Status InProcessCommunicator::WaitUntil(Lock& lock, int64_t device, Wait wait,
                                              const std::function<bool()>& is_over) {
  waits_[device] = std::move(wait);
  CheckProgress();
  const auto ends = [&] { return is_over() || !failure_.ok(); };
  if (!changed_.wait_for(lock, longest_wait_, ends)) {
    Fail(Report(fmt::format("after {} seconds ", longest_wait_.count())));
  }
  return is_over() ? absl::OkStatus() : failure_;
}

void InProcessCommunicator::Leave(int64_t device, absl::Status status) {
  const Lock lock(mutex_);
  if (!status.ok()) return Fail(std::move(status));
  if (!has_left_[static_cast<size_t>(device)]) ++left_;
  has_left_[static_cast<size_t>(device)] = true;
  CheckProgress();
}

void InProcessCommunicator::CheckProgress() {
  const int64_t still = left_ + static_cast<int64_t>(waits_.size());
  if (waits_.empty() || still < mesh_.devices()) return;
  Fail(Report("the devices cannot go on: "));
}

void InProcessCommunicator::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  changed_.notify_all();
}

absl::Status InProcessCommunicator::Report(std::string_view what) const {
  struct Place {
    const Instruction* instruction;
    std::vector<int64_t> waiting, missing;
  };
  std::vector<Place> places;
  for (const auto& [device, wait] : waits_) {
    auto place = std::find_if(places.begin(), places.end(), [&](const Place& other) {
      return other.instruction == wait.instruction;
    });
    if (place == places.end()) place = places.insert(place, {wait.instruction, {}, {}});
    place->waiting.push_back(device);
    if (wait.route) place->missing.push_back(wait.route->source);
    for (size_t i = 0; wait.rendezvous != nullptr && i < wait.rendezvous->group.size(); ++i) {
      if (!wait.rendezvous->is_here[i]) place->missing.push_back(wait.rendezvous->group[i]);
    }
  }
  std::vector<Diagnostic> diagnostics;
  for (Place& place : places) {
    std::sort(place.missing.begin(), place.missing.end());
    place.missing.erase(std::unique(place.missing.begin(), place.missing.end()),
                        place.missing.end());
    std::string text =
        fmt::format("{} {} at {} for {}", DeviceList(place.waiting), Waits(place.waiting),
                    Describe(*place.instruction), DeviceList(place.missing));
    if (diagnostics.empty()) text.insert(0, what);
    diagnostics.push_back({diagnostics.empty() ? Severity::kError : Severity::kNote,
                           place.instruction->loc(), std::move(text)});
  }
  std::vector<int64_t> finished, busy;
  for (int64_t device = 0; device < mesh_.devices(); ++device) {
    if (has_left_[static_cast<size_t>(device)]) {
      finished.push_back(device);
    } else if (!waits_.contains(device)) {
      busy.push_back(device);
    }
  }
  const auto note = [&](const std::vector<int64_t>& devices, std::string_view one,
                        std::string_view many) {
    if (devices.empty()) return;
    diagnostics.push_back(
        {Severity::kNote, SourceLoc(),
         fmt::format("{} {}", DeviceList(devices), devices.size() == 1 ? one : many)});
  };
  note(finished, "has finished", "have finished");
  note(busy, "is still busy", "are still busy");
  return StatusOf(absl::StatusCode::kInvalidArgument, diagnostics);
}

}  // namespace hlo
