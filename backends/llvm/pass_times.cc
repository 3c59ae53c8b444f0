#include "backends/llvm/pass_times.h"

#include <llvm/Pass.h>
#include <llvm/Support/Timer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "lib/support/strings.h"

namespace hlo {
namespace {

struct OwnTimes {
  std::mutex mutex;
  std::map<std::string, double, std::less<>> by_name;
};

OwnTimes& Own() {
  static auto& times = *new OwnTimes;
  return times;
}

// LLVM gives the times of its pass timers as lines of JSON only:
//   "time.pass.x86-isel.wall": 1.2e-03,
void AddTimersOfLlvm(std::map<std::string, double, std::less<>>& times) {
  std::string json;
  llvm::raw_string_ostream stream(json);
  llvm::TimerGroup::printAllJSONValues(stream, "");
  llvm::TimerGroup::clearAll();
  constexpr std::string_view kBefore = "\"time.pass.", kAfter = ".wall\": ";
  for (const std::string_view line : Split(stream.str(), '\n')) {
    const size_t begin = line.find(kBefore), end = line.find(kAfter);
    if (begin == std::string_view::npos || end == std::string_view::npos) continue;
    const std::string_view name = line.substr(begin + kBefore.size(), end - begin - kBefore.size());
    times[std::string(name)] += 1e3 * std::atof(line.data() + end + kAfter.size());
  }
}

}  // namespace

void MeasureLlvmPasses() { llvm::TimePassesIsEnabled = true; }

bool MeasuresLlvmPasses() { return llvm::TimePassesIsEnabled; }

void AddLlvmPassTime(std::string_view name, double milliseconds) {
  const std::lock_guard<std::mutex> lock(Own().mutex);
  Own().by_name[std::string(name)] += milliseconds;
}

std::vector<LlvmPassTime> TakeLlvmPassTimes() {
  if (!MeasuresLlvmPasses()) return {};
  const std::lock_guard<std::mutex> lock(Own().mutex);
  std::map<std::string, double, std::less<>> all;
  all.swap(Own().by_name);
  AddTimersOfLlvm(all);
  std::vector<LlvmPassTime> times;
  for (const auto& [name, milliseconds] : all) times.push_back({name, milliseconds});
  std::stable_sort(times.begin(), times.end(), [](const LlvmPassTime& a, const LlvmPassTime& b) {
    return a.milliseconds > b.milliseconds;
  });
  return times;
}

}  // namespace hlo
