#include "backends/common/thunk_profile.h"

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

ThunkProfile::ThunkProfile() : outer_(current_profile) {
  start_ = Now();
  current_profile = this;
}

ThunkProfile::~ThunkProfile() { current_profile = outer_; }

int64_t ThunkProfile::Now() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - start_;
}

size_t ThunkProfile::NumberOf(const Thunk& thunk) {
  const auto [at, is_new] = numbers_.emplace(&thunk, thunks_.size());
  if (is_new) thunks_.push_back({thunk.name(), std::string(thunk.kind())});
  return at->second;
}

absl::StatusOr<ExecuteEvent> ThunkProfile::Execute(const Thunk& thunk, DeviceState& state,
                                                   Stream& stream) {
  const int64_t inner_of_caller = std::exchange(inner_, 0);
  const int64_t begin = Now();
  ASSIGN_OR_RETURN(const ExecuteEvent event, thunk.Execute(state, stream));
  RETURN_IF_ERROR(event.Wait());
  const int64_t total = Now() - begin;
  calls_.push_back({NumberOf(thunk), begin, total, total - inner_});
  inner_ = inner_of_caller + total;
  return event;
}

}  // namespace hlo
