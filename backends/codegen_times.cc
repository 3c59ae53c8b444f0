#include "backends/codegen_times.h"

#if HLO_HAVE_LLVM
#include <fmt/format.h>

#include "backends/llvm/pass_times.h"
#endif

namespace hlo {

#if HLO_HAVE_LLVM

void MeasureCodegenPasses() { MeasureLlvmPasses(); }

std::string CodegenPassTable() {
  constexpr double kLeastShare = 0.01;  // a row of its own
  const std::vector<LlvmPassTime> times = TakeLlvmPassTimes();
  double all = 0;
  for (const LlvmPassTime& time : times) all += time.milliseconds;
  if (all <= 0) return "";
  std::string text = fmt::format("{:>12}{:>8}   LLVM pass (of all threads)\n", "time (ms)", "%");
  const auto add = [&](double milliseconds, std::string_view name) {
    text += fmt::format("{:>12.3f}{:>7.1f}%   {}\n", milliseconds, 100 * milliseconds / all, name);
  };
  double others = 0;
  int64_t count = 0;
  for (const LlvmPassTime& time : times) {
    if (time.milliseconds >= kLeastShare * all) {
      add(time.milliseconds, time.name);
    } else {
      others += time.milliseconds;
      ++count;
    }
  }
  if (count > 0) add(others, fmt::format("{} others", count));
  add(all, "total");
  return text;
}

#else

void MeasureCodegenPasses() {}
std::string CodegenPassTable() { return ""; }

#endif

}  // namespace hlo
