#include "lib/eval/stuck_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "lib/ops/attrs.h"
#include "lib/support/diagnostic.h"

namespace hlo {
namespace {

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

// All devices that wait at one instruction.
struct WaitingPlace {
  SourceLoc loc;
  std::string place;
  std::vector<int64_t> waiting, missing;
};

std::vector<WaitingPlace> ByPlace(std::vector<WaitingDevice> waiting) {
  std::sort(waiting.begin(), waiting.end(), [](const WaitingDevice& a, const WaitingDevice& b) {
    return std::tie(a.device, a.loc.offset) < std::tie(b.device, b.loc.offset);
  });
  std::vector<WaitingPlace> places;
  for (WaitingDevice& wait : waiting) {
    auto place = std::find_if(places.begin(), places.end(), [&](const WaitingPlace& other) {
      return other.loc == wait.loc && other.place == wait.place;
    });
    if (place == places.end())
      place = places.insert(place, {wait.loc, std::move(wait.place), {}, {}});
    place->waiting.push_back(wait.device);
    place->missing.insert(place->missing.end(), wait.missing.begin(), wait.missing.end());
  }
  for (WaitingPlace& place : places) {
    for (std::vector<int64_t>* devices : {&place.waiting, &place.missing}) {
      std::sort(devices->begin(), devices->end());
      devices->erase(std::unique(devices->begin(), devices->end()), devices->end());
    }
  }
  return places;
}

}  // namespace

WaitingDevice WaitsAt(int64_t device, const Instruction& instruction,
                      std::vector<int64_t> missing) {
  return {device, instruction.loc(), Describe(instruction), std::move(missing)};
}

std::string NumberedList(std::string_view noun, const std::vector<int64_t>& numbers) {
  std::vector<std::string> ranges;
  for (size_t begin = 0, end; begin < numbers.size(); begin = end) {
    end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    const int64_t first = numbers[begin], last = numbers[end - 1];
    if (last - first >= 2) {
      ranges.push_back(fmt::format("{} to {}", first, last));
    } else {
      for (int64_t number = first; number <= last; ++number)
        ranges.push_back(fmt::format("{}", number));
    }
  }
  std::string text = fmt::format("{}{} ", noun, numbers.size() == 1 ? "" : "s");
  for (size_t i = 0; i < ranges.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
  return text;
}

absl::Status StuckReport(std::string_view what, const std::vector<WaitingDevice>& waiting,
                         const std::vector<int64_t>& finished, const std::vector<int64_t>& busy,
                         const std::function<int(int64_t device)>& rank_of) {
  const auto list = [&](const std::vector<int64_t>& devices) {
    std::string text = NumberedList("device", devices);
    if (rank_of == nullptr) return text;
    std::set<int64_t> ranks;
    for (const int64_t device : devices) ranks.insert(rank_of(device));
    return text + " of " + NumberedList("rank", {ranks.begin(), ranks.end()});
  };
  std::vector<Diagnostic> diagnostics;
  for (const WaitingPlace& place : ByPlace(waiting)) {
    std::string text = fmt::format("{} {} at {} for {}", list(place.waiting), Waits(place.waiting),
                                   place.place, list(place.missing));
    if (diagnostics.empty()) text.insert(0, what);
    diagnostics.push_back(
        {diagnostics.empty() ? Severity::kError : Severity::kNote, place.loc, std::move(text)});
  }
  const auto note = [&](const std::vector<int64_t>& devices, std::string_view one,
                        std::string_view many) {
    if (devices.empty()) return;
    diagnostics.push_back({Severity::kNote, SourceLoc(),
                           fmt::format("{} {}", list(devices), devices.size() == 1 ? one : many)});
  };
  note(finished, "has finished", "have finished");
  note(busy, "is still busy", "are still busy");
  return StatusOf(absl::StatusCode::kInvalidArgument, diagnostics);
}

}  // namespace hlo
