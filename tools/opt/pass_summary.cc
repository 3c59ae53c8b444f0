#include "tools/opt/pass_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "lib/analysis/program_cost.h"
#include "lib/ops/ops.h"
#include "lib/support/byte_count.h"

namespace hlo {
namespace {

constexpr size_t kMostOpcodes = 4;  // in a row

std::string SignedBytes(double bytes) {
  const auto count = static_cast<int64_t>(std::abs(bytes));
  return (bytes < 0 ? "-" : "+") + ByteCountText(count);
}

}  // namespace

PassSummary::Counts PassSummary::CountsOf(const Module& module) {
  Counts counts;
  counts.opcodes.resize(kOpcodeCount);
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->instructions())
      ++counts.opcodes[static_cast<size_t>(instruction->opcode())];
  }
  counts.bytes = ProgramCost(module).total().bytes;
  return counts;
}

PassSummary::Row PassSummary::RowOf(const Counts& before, const Counts& after) {
  Row row;
  row.instructions = std::accumulate(after.opcodes.begin(), after.opcodes.end(), int64_t{0});
  row.delta =
      row.instructions - std::accumulate(before.opcodes.begin(), before.opcodes.end(), int64_t{0});
  row.bytes = after.bytes - before.bytes;
  std::vector<std::pair<int64_t, Opcode>> deltas;
  for (size_t i = 0; i < after.opcodes.size(); ++i) {
    const int64_t delta = after.opcodes[i] - before.opcodes[i];
    if (delta != 0) deltas.emplace_back(delta, static_cast<Opcode>(i));
    if (static_cast<Opcode>(i) == Opcode::kFusion) row.fusions = delta;
  }
  std::stable_sort(deltas.begin(), deltas.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  for (size_t i = 0; i < std::min(deltas.size(), kMostOpcodes); ++i)
    row.opcodes +=
        fmt::format("{}{:+} {}", i == 0 ? "" : ", ", deltas[i].first, Text(deltas[i].second));
  if (deltas.size() > kMostOpcodes)
    row.opcodes += fmt::format(" and {} more", deltas.size() - kMostOpcodes);
  return row;
}

void PassSummary::AddTo(Instrumentation& instrumentation) {
  instrumentation.before_pass = [this, next = instrumentation.before_pass](const PipelineItem& pass,
                                                                           const Module& module) {
    before_ = CountsOf(module);
    return next == nullptr ? absl::OkStatus() : next(pass, module);
  };
  instrumentation.after_pass = [this, next = instrumentation.after_pass](
                                   const PipelineItem& pass, const Module& module, bool changed) {
    rows_.push_back(RowOf(before_, changed ? CountsOf(module) : before_));
    return next == nullptr ? absl::OkStatus() : next(pass, module, changed);
  };
}

std::string PassSummary::Table(const std::vector<PassRun>& runs) const {
  size_t width = 4;
  for (const PassRun& run : runs) width = std::max(width, run.name.size());
  std::string text =
      fmt::format("{:<{}}  changed  instructions  delta  fusions  {:>12}  {:>9}  opcodes\n", "pass",
                  width, "bytes", "ms");
  size_t next = 0;
  for (const PassRun& run : runs) {
    if (run.skipped || next == rows_.size()) continue;
    const Row& row = rows_[next++];
    std::string line =
        fmt::format("{:<{}}  {:<7}  {:>12}  {:>+5}  {:>+7}  {:>12}  {:>9.3f}  {}", run.name, width,
                    run.changed ? "yes" : "no", row.instructions, row.delta, row.fusions,
                    SignedBytes(row.bytes), run.milliseconds, row.opcodes);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace hlo
