#include "lib/analysis/live_range.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/analysis/program_peak.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {

LiveRanges::LiveRanges(const Values& values)
    : values_(values),
      ranges_(static_cast<size_t>(values.count())),
      extents_(values.module().serial_limit()) {
  const Computation& entry = *values.module().entry();
  for (const Instruction* parameter : entry.parameters()) Define(*parameter);
  for (const ProgramStep& step : values.order()) {
    switch (step.kind) {
      case ProgramStep::Kind::kVisit: Visit(*step.instruction); break;
      case ProgramStep::Kind::kBegin: Begin(*step.instruction); break;
      case ProgramStep::Kind::kEnter:
        if (!step.again)
          extents_[step.callee().serial()] = {defined_, defined_, TimeOf(*step.instruction)};
        for (const Instruction* parameter : step.callee().parameters()) Define(*parameter);
        break;
      case ProgramStep::Kind::kLeave: Leave(step); break;
      case ProgramStep::Kind::kEnd: End(*step.instruction); break;
    }
  }
  time_ += 2;
  ReadAll(*entry.root());
}

// ---- the walk ----

void LiveRanges::Visit(const Instruction& instruction) {
  times_[&instruction] = ++time_;
  if (instruction.opcode() == Opcode::kParameter) return;
  if (HasTrait(instruction.opcode(), kAsyncDone) || instruction.opcode() == Opcode::kAsyncUpdate)
    VisitDone(instruction);
  Define(instruction);
  if (!values_.Reads(instruction)) return;
  for (const Instruction* operand : instruction.operands()) ReadAll(*operand);
}

// What the start began is over: its operands, its results, what its computation used.
void LiveRanges::VisitDone(const Instruction& done) {
  ReadAll(*done.operand(0));
  const Instruction* start = done.operand(0);
  if (kAsyncSteps.Has(done.opcode())) start = AsyncStartOf(done);
  if (start == nullptr || !HasTrait(start->opcode(), kAsyncStart)) return;
  for (const Instruction* operand : start->operands()) ReadAll(*operand);
  if (start->opcode() != Opcode::kAsyncStart || start->call_count() == 0) return;
  const Extent& extent = extents_[start->call(0)->serial()];
  Extend(extent, extent.begin);
}

void LiveRanges::Begin(const Instruction& instruction) {
  times_[&instruction] = ++time_;
  if (instruction.opcode() == Opcode::kConditional) ReadAll(*instruction.operand(0));
  if (instruction.opcode() != Opcode::kWhile) return;
  ReadAll(*instruction.operand(0));
  ++time_;
  Define(instruction);
}

void LiveRanges::Leave(const ProgramStep& step) {
  const Instruction& caller = *step.instruction;
  const Computation& callee = step.callee();
  ++time_;
  Extent& extent = extents_[callee.serial()];
  if (!step.again) extent.last = defined_;
  if (caller.opcode() == Opcode::kConditional ||
      (caller.opcode() == Opcode::kWhile && step.call == 0)) {
    ReadAll(*callee.root());
    ++time_;
  } else if (caller.opcode() == Opcode::kWhile) {
    body_ends_[&caller] = time_;
    const absl::Span<const ValueId> state = values_.Of(caller), result = values_.Of(*callee.root());
    // What the body returns under another leaf is read at its end.
    for (size_t i = 0; i < state.size() && i < result.size(); ++i) {
      if (result[i] != state[i]) Read(result[i]);
    }
    ++time_;
    ReadAll(caller);
  }
  if (step.again) Extend(extent, extent.begin);
}

void LiveRanges::End(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kWhile) return;
  Define(instruction);
  if (instruction.opcode() != Opcode::kConditional) return;
  // Each branch computes the result; whichever runs reads the operands.
  const int start = TimeOf(instruction);
  for (const ValueId value : values_.Of(instruction)) {
    LiveRange& range = ranges_[static_cast<size_t>(value)];
    if (values_[value].def == &instruction) range.start = std::min(range.start, start);
  }
  for (const Instruction* operand : instruction.operands()) ReadAll(*operand);
}

void LiveRanges::Define(const Instruction& instruction) {
  for (const ValueId value : values_.Of(instruction)) {
    if (values_[value].def != &instruction || value < defined_) continue;
    ranges_[static_cast<size_t>(value)] = {time_, time_};
    defined_ = value + 1;
  }
}

void LiveRanges::Read(ValueId value) {
  LiveRange& range = ranges_[static_cast<size_t>(value)];
  range.end = std::max(range.end, time_);
}

void LiveRanges::ReadAll(const Instruction& instruction) {
  for (const ValueId value : values_.Of(instruction)) Read(value);
}

void LiveRanges::Extend(const Extent& extent, int begin) {
  for (ValueId value = extent.first; value < extent.last; ++value) {
    LiveRange& range = ranges_[static_cast<size_t>(value)];
    range.start = std::min(range.start, begin);
    Read(value);
  }
}

// ---- questions ----

int64_t LiveRanges::PeakBytes() const { return PeakOf(values_, *this).bytes; }

std::string LiveRanges::Mistake(const Module& module) const {
  const Values values(module);
  const LiveRanges fresh(values);
  if (fresh.ranges_.size() != ranges_.size())
    return fmt::format("there are {} values, not {}", fresh.ranges_.size(), ranges_.size());
  for (ValueId value = 0; value < values.count(); ++value) {
    if (!(fresh.Of(value) == Of(value)))
      return fmt::format("value `{}` is needed at other times now", values.NameOf(value));
  }
  return "";
}

std::string LiveRanges::ToString(const Module& module) {
  const Values values(module);
  const LiveRanges ranges(values);
  std::string text = fmt::format("0..{}, at most {} bytes\n", ranges.end(), ranges.PeakBytes());
  for (ValueId value = 0; value < values.count(); ++value) {
    const LiveRange& range = ranges.Of(value);
    text += fmt::format("{}: {}..{}\n", values.NameOf(value), range.start, range.end);
  }
  return text;
}

}  // namespace hlo
