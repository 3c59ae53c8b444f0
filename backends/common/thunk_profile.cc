#include "backends/common/thunk_profile.h"

#include <algorithm>
#include <chrono>

#include "lib/support/status.h"

namespace hlo {
namespace {

thread_local ThunkProfile* current_profile = nullptr;

}  // namespace

absl::StatusOr<ExecuteEvent> ExecuteThunk(const Thunk& thunk, DeviceState& state, Stream& stream) {
  if (current_profile == nullptr) return thunk.Execute(state, stream);
  return current_profile->Execute(thunk, state, stream);
}

ThunkProfile* ThunkProfile::Current() { return current_profile; }

ThunkProfile::ThunkProfile(std::string_view track, std::optional<int64_t> clock)
    : outer_(current_profile) {
  start_ = clock ? *clock : Now();
  record_.tracks.emplace_back(track);
  current_profile = this;
}

ThunkProfile::~ThunkProfile() { current_profile = outer_; }

int64_t ThunkProfile::Now() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - start_;
}

size_t ThunkProfile::NumberOf(const Thunk& thunk) {
  const auto [at, is_new] = numbers_.emplace(&thunk, record_.thunks.size());
  if (is_new) {
    record_.thunks.push_back({thunk.name(), std::string(thunk.kind())});
    record_.identities.push_back(&thunk);
  }
  return at->second;
}

void ThunkProfile::Adopt(const ThunkRecord& other) {
  std::vector<size_t> tracks, thunks;
  for (const std::string& track : other.tracks) {
    const auto at = std::find(record_.tracks.begin(), record_.tracks.end(), track);
    tracks.push_back(static_cast<size_t>(at - record_.tracks.begin()));
    if (at == record_.tracks.end()) record_.tracks.push_back(track);
  }
  for (const Thunk* thunk : other.identities) thunks.push_back(NumberOf(*thunk));
  for (ThunkCall call : other.calls) {
    call.thunk = thunks[call.thunk];
    call.track = tracks[call.track];
    record_.calls.push_back(call);
  }
}

absl::StatusOr<ExecuteEvent> ThunkProfile::Execute(const Thunk& thunk, DeviceState& state,
                                                   Stream& stream) {
  const int64_t inner_of_caller = std::exchange(inner_, 0);
  const int64_t begin = Now();
  ExecuteEvent event;
  int64_t total = 0;
  if (stream.HasClock() && thunk.OnlyEnqueues()) {
    ASSIGN_OR_RETURN(total, stream.Time([&]() -> absl::Status {
      return thunk.Execute(state, stream).status();
    }));
  } else {
    ASSIGN_OR_RETURN(event, thunk.Execute(state, stream));
    RETURN_IF_ERROR(event.Wait());
    total = Now() - begin;
  }
  record_.calls.push_back({NumberOf(thunk), begin, total, total - inner_});
  inner_ = inner_of_caller + total;
  return event;
}

}  // namespace hlo
