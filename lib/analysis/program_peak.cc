#include "lib/analysis/program_peak.h"

#include <fmt/core.h>

#include "lib/analysis/running_at.h"
#include "lib/support/saturate.h"

namespace hlo {

ProgramPeak PeakOf(const Values& values, const LiveRanges& ranges) {
  std::vector<int64_t> change(static_cast<size_t>(ranges.end()) + 2, 0);
  for (ValueId value = 0; value < values.count(); ++value) {
    const Shape shape = values[value].shape;
    if (!shape.IsArray()) continue;
    const LiveRange& range = ranges.Of(value);
    int64_t& from = change[static_cast<size_t>(range.start)];
    from = SaturatingAdd(from, shape.byte_size());
    int64_t& until = change[static_cast<size_t>(range.end) + 1];
    until = SaturatingAdd(until, -shape.byte_size());
  }
  ProgramPeak peak;
  int64_t live = 0;
  for (int time = 0; time <= ranges.end(); ++time) {
    live = SaturatingAdd(live, change[static_cast<size_t>(time)]);
    if (live <= peak.bytes) continue;
    peak.bytes = live;
    peak.time = time;
  }
  peak.at = InstructionAt(peak.time, values, ranges);
  for (ValueId value = 0; value < values.count(); ++value) {
    const LiveRange& range = ranges.Of(value);
    if (values[value].shape.IsArray() && range.start <= peak.time && peak.time <= range.end)
      peak.values.push_back(value);
  }
  return peak;
}

std::string ProgramPeakToString(const Module& module) {
  const Values values(module);
  const LiveRanges ranges(values);
  const ProgramPeak peak = PeakOf(values, ranges);
  std::string text = fmt::format("{} bytes at time {}{}\n", peak.bytes, peak.time,
                                 peak.at == nullptr ? "" : fmt::format(", `{}`", peak.at->name()));
  for (const ValueId value : peak.values)
    text += fmt::format("  {}: {} bytes\n", values.NameOf(value), values[value].shape.byte_size());
  return text;
}

}  // namespace hlo
