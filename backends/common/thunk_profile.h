// Which thunks a thread runs, when, and how long each takes by itself.
//
//   ThunkProfile profile;                      // from here on, of this thread
//   RETURN_IF_ERROR(state->Run());             // every thunk is waited for before the next begins
//   for (const ThunkCall& call : profile.calls()) …
//
// Times are those of the device's clock where the stream has one (launching a kernel is not part of
// them then), else the host's.
//
// A thread that works for the profiled one has a profile of its own, on the same clock, which that
// one adopts when it has waited for it.
//
// Without one, a thunk costs a look at a variable more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/common/thunk.h"

namespace hlo {

struct ProfiledThunk {
  std::string name;  // of its instruction
  std::string kind;
};

// Nanoseconds since the profile was made.
struct ThunkCall {
  size_t thunk;  // of ThunkProfile::thunks()
  int64_t start;
  int64_t total;     // with what it runs, when it is a loop or a branch
  int64_t self;      // without
  size_t track = 0;  // of ThunkProfile::tracks()
};

// What a profile has seen.
struct ThunkRecord {
  std::vector<std::string> tracks;  // names of threads
  std::vector<ProfiledThunk> thunks;
  std::vector<const Thunk*> identities;  // of `thunks`
  std::vector<ThunkCall> calls;
};

class ThunkProfile final {
 public:
  ThunkProfile() : ThunkProfile("main", std::nullopt) {}
  // Of a thread that works for one whose profile has `clock`.
  ThunkProfile(std::string_view track, std::optional<int64_t> clock);
  ~ThunkProfile();
  ThunkProfile(const ThunkProfile&) = delete;
  ThunkProfile& operator=(const ThunkProfile&) = delete;

  // Of this thread; null: none.
  static ThunkProfile* Current();
  int64_t clock() const { return start_; }
  ThunkRecord Take() { return std::move(record_); }
  void Adopt(const ThunkRecord& other);

  const std::vector<ProfiledThunk>& thunks() const { return record_.thunks; }
  // Those of this thread in the order in which they ended.
  const std::vector<ThunkCall>& calls() const { return record_.calls; }
  // This thread, then others.
  const std::vector<std::string>& tracks() const { return record_.tracks; }

  // Called for each thunk.
  absl::StatusOr<ExecuteEvent> Execute(const Thunk& thunk, DeviceState& state, Stream& stream);

 private:
  int64_t Now() const;
  size_t NumberOf(const Thunk& thunk);

  int64_t start_ = 0;
  int64_t inner_ = 0;  // time of the thunks that the running one has run
  ThunkRecord record_;
  std::map<const Thunk*, size_t> numbers_;
  ThunkProfile* outer_;  // the profile of this thread before
};

}  // namespace hlo
