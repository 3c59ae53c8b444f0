#include "lib/eval/stuck_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "lib/ops/attrs.h"
#include "lib/support/diagnostic.h"

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

// All devices that wait at one instruction.
struct WaitingPlace {
  const Instruction* instruction;
  std::vector<int64_t> waiting, missing;
};

}  // namespace

absl::Status StuckReport(std::string_view what, const std::vector<WaitingDevice>& waiting,
                         const std::vector<int64_t>& finished, const std::vector<int64_t>& busy) {
  std::vector<WaitingPlace> places;
  for (const WaitingDevice& wait : waiting) {
    auto place = std::find_if(places.begin(), places.end(), [&](const WaitingPlace& other) {
      return other.instruction == wait.instruction;
    });
    if (place == places.end()) place = places.insert(place, {wait.instruction, {}, {}});
    place->waiting.push_back(wait.device);
    place->missing.insert(place->missing.end(), wait.missing.begin(), wait.missing.end());
  }
  std::vector<Diagnostic> diagnostics;
  for (WaitingPlace& place : places) {
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
