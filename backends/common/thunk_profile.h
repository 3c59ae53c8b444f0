// Which thunks a thread runs, when, and how long each takes by itself.
//
//   ThunkProfile profile;                      // from here on, of this thread
//   RETURN_IF_ERROR(state->Run());             // every thunk is waited for before the next begins
//   for (const ThunkCall& call : profile.calls()) …
//
// Without one, a thunk costs a look at a variable more.
#pragma once

#include <cstdint>
#include <map>
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
  int64_t total;  // with what it runs, when it is a loop or a branch
  int64_t self;   // without
};

class ThunkProfile final {
 public:
  ThunkProfile();
  ~ThunkProfile();
  ThunkProfile(const ThunkProfile&) = delete;
  ThunkProfile& operator=(const ThunkProfile&) = delete;

  const std::vector<ProfiledThunk>& thunks() const { return thunks_; }
  // In the order in which they ended.
  const std::vector<ThunkCall>& calls() const { return calls_; }

  // Called for each thunk.
  absl::StatusOr<ExecuteEvent> Execute(const Thunk& thunk, DeviceState& state, Stream& stream);

 private:
  int64_t Now() const;
  size_t NumberOf(const Thunk& thunk);

  int64_t start_ = 0;
  int64_t inner_ = 0;  // time of the thunks that the running one has run
  std::vector<ProfiledThunk> thunks_;
  std::vector<ThunkCall> calls_;
  std::map<const Thunk*, size_t> numbers_;
  ThunkProfile* outer_;  // the profile of this thread before
};

}  // namespace hlo
