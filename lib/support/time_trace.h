// Where the time of a program goes: spans of named work, by thread, kept while somebody wants them.
//
//   StartTimeTrace();
//   { const TimeSpan span("pass", "algsimp"); … }        // from here to the end of the scope
//   std::vector<TimedSpan> spans = TakeTimeTrace();
//
// Nobody wants them by default: then a span costs the look at one flag. Any thread may time;
// spans are kept in the order in which they end.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace hlo {

struct TimedSpan {
  std::string kind;   // "pass", "verify", "llvm": what it counts as
  std::string name;   // of this one, "algsimp"; empty: there is no more to say
  int thread = 0;     // in the order of their first spans
  double start = 0;   // milliseconds since StartTimeTrace
  double length = 0;  // milliseconds
};

// Forgets what there is and keeps spans from now on.
void StartTimeTrace();
// What was kept, and keeps no more.
std::vector<TimedSpan> TakeTimeTrace();

class TimeSpan final {
 public:
  // The words must live as long as the span does.
  explicit TimeSpan(std::string_view kind, std::string_view name = {});
  ~TimeSpan();
  TimeSpan(const TimeSpan&) = delete;
  TimeSpan& operator=(const TimeSpan&) = delete;

 private:
  std::string_view kind_, name_;
  int64_t start_ = -1;  // nanoseconds; negative: not kept
};

// Milliseconds in which any thread had a span of this kind.
double TimeOf(absl::Span<const TimedSpan> spans, std::string_view kind);

// For chrome://tracing and Perfetto, a track for each thread.
std::string TimeTraceText(absl::Span<const TimedSpan> spans, std::string_view program);

}  // namespace hlo
