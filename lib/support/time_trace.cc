#include "lib/support/time_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "lib/support/json_value.h"

namespace hlo {
namespace {

struct Kept {
  std::mutex mutex;
  std::vector<TimedSpan> spans;          // guarded by mutex
  std::vector<std::thread::id> threads;  // guarded by mutex
};

std::atomic<bool> is_wanted = false;
std::atomic<int64_t> begin = 0;

Kept& TheKept() {
  static Kept& kept = *new Kept;  // spans may end while the program does
  return kept;
}

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

}  // namespace

void StartTimeTrace() {
  Kept& kept = TheKept();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  kept.spans.clear();
  kept.threads = {std::this_thread::get_id()};
  begin = Nanoseconds();
  is_wanted = true;
}

std::vector<TimedSpan> TakeTimeTrace() {
  Kept& kept = TheKept();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  is_wanted = false;
  return std::exchange(kept.spans, {});
}

TimeSpan::TimeSpan(std::string_view kind, std::string_view name) : kind_(kind), name_(name) {
  if (is_wanted.load(std::memory_order_relaxed)) start_ = Nanoseconds();
}

TimeSpan::~TimeSpan() {
  if (start_ < 0 || !is_wanted.load(std::memory_order_relaxed)) return;
  const int64_t end = Nanoseconds();
  Kept& kept = TheKept();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (start_ < begin) return;  // of an earlier trace
  auto thread = std::find(kept.threads.begin(), kept.threads.end(), std::this_thread::get_id());
  if (thread == kept.threads.end())
    thread = kept.threads.insert(thread, std::this_thread::get_id());
  kept.spans.push_back({std::string(kind_), std::string(name_),
                        static_cast<int>(thread - kept.threads.begin()),
                        Milliseconds(start_ - begin), Milliseconds(end - start_)});
}

double TimeOf(absl::Span<const TimedSpan> spans, std::string_view kind) {
  std::vector<std::pair<double, double>> intervals;
  for (const TimedSpan& span : spans) {
    if (span.kind == kind) intervals.emplace_back(span.start, span.start + span.length);
  }
  std::sort(intervals.begin(), intervals.end());
  double total = 0, covered = 0;  // up to here
  for (const auto& [first, last] : intervals) {
    total += std::max(0.0, last - std::max(first, covered));
    covered = std::max(covered, last);
  }
  return total;
}

std::string TimeTraceText(absl::Span<const TimedSpan> spans, std::string_view program) {
  std::string text =
      fmt::format(R"({{"displayTimeUnit":"ms","traceEvents":[)"
                  "\n"
                  R"({{"ph":"M","pid":0,"name":"process_name","args":{{"name":{}}}}})",
                  JsonQuoted(program));
  std::set<int> threads;
  for (const TimedSpan& span : spans) threads.insert(span.thread);
  for (const int thread : threads) {
    text += fmt::format(
        ",\n"
        R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
        thread, thread == 0 ? "main" : fmt::format("worker {}", thread));
  }
  for (const TimedSpan& span : spans) {
    text += fmt::format(
        ",\n"
        R"({{"ph":"X","pid":0,"tid":{},"name":{},"cat":{},"ts":{:.3f},"dur":{:.3f}}})",
        span.thread, JsonQuoted(span.name.empty() ? span.kind : span.name), JsonQuoted(span.kind),
        1000 * span.start, 1000 * span.length);
  }
  return text + "\n]}\n";
}

}  // namespace hlo
