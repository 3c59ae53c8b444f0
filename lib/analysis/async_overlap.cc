#include "lib/analysis/async_overlap.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/program_cost.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/call_order.h"
#include "lib/ir/source_line.h"
#include "lib/ops/async_pairs.h"
#include "lib/support/line_table.h"

namespace hlo {
namespace {

std::string Microseconds(double seconds) { return fmt::format("{:.3g} us", seconds * 1e6); }

// What a pair stands for: the opcode of a first-class start, or of the root that it runs.
std::string WhatRuns(const Instruction& start) {
  if (start.opcode() != Opcode::kAsyncStart)
    return std::string(Text(AsyncPairOf(start.opcode())->opcode));
  return fmt::format("{} on thread `{}`", start.call(0)->root()->opcode_text(),
                     start.attrs<AsyncAttrs>().async_execution_thread);
}

// "12:3, model.py:40": the place in the text, and in the program that it was made of.
std::string PlaceOf(const Instruction& instruction, const LineTable* lines) {
  std::string place;
  if (lines != nullptr && instruction.loc().known()) {
    const LineColumn at = lines->Locate(instruction.loc().offset);
    place = fmt::format("{}:{}", at.line, at.column);
  }
  const std::string source = SourceLineOf(instruction);
  return place + (place.empty() || source.empty() ? "" : ", ") + source;
}

}  // namespace

const Instruction* StartOfDone(const Instruction& done) {
  if (!EndsPair(done.opcode()) || done.operand_count() == 0) return nullptr;
  const Instruction* const start =
      done.opcode() == Opcode::kAsyncDone ? AsyncStartOf(done) : TraceValue(done.operand(0));
  return start != nullptr && BeginsPair(start->opcode()) ? start : nullptr;
}

// ---- durations ----

Durations::Durations(const Module& module, const PlatformRates& rates)
    : rates_(rates), computations_(module.serial_limit(), 0) {
  for (const Computation* computation : CalleesFirst(module.PostOrder())) {
    double seconds = 0;
    for (const Instruction* instruction : computation->instructions()) seconds += Of(*instruction);
    computations_[computation->serial()] = seconds;
  }
}

double Durations::OfComputation(const Computation& computation) const {
  return computations_[computation.serial()];
}

double Durations::Of(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  if (YieldsUnderWay(opcode) || EndsPair(opcode)) return 0;
  if (!RunsComputations(instruction)) return SecondsOf(CostOf(instruction), rates_, rates_.lanes);
  if (opcode == Opcode::kWhile) {
    const auto times = static_cast<double>(KnownTripCount(instruction).value_or(1));
    return times * OfComputation(*instruction.while_body()) +
           (times + 1) * OfComputation(*instruction.while_condition());
  }
  double longest = 0;
  for (const Computation* callee : instruction.calls())
    longest = std::max(longest, OfComputation(*callee));
  return longest;
}

double Durations::InBackground(const Instruction& start) const {
  if (start.opcode() == Opcode::kAsyncStart) return OfComputation(*start.call(0));
  return SecondsOf(CostOf(start), rates_, rates_.lanes);
}

// ---- pairs ----

std::vector<AsyncOverlap> AsyncOverlaps(const Module& module, const Durations& durations) {
  std::vector<AsyncOverlap> overlaps;
  for (const Computation* computation : module.NonFusionComputations()) {
    const std::vector<Instruction*> order = computation->SequenceOrPostOrder();
    for (auto done = order.begin(); done != order.end(); ++done) {
      const Instruction* const start = StartOfDone(**done);
      if (start == nullptr || start->parent() != computation) continue;
      AsyncOverlap& overlap = overlaps.emplace_back(AsyncOverlap{start, *done, {}});
      overlap.seconds = durations.InBackground(*start);
      for (auto at = std::next(std::find(order.begin(), done, start)); at < done; ++at) {
        if (durations.Of(**at) == 0 && !BeginsPair((*at)->opcode())) continue;
        overlap.between.push_back(*at);
        overlap.hidden += durations.Of(**at);
      }
      overlap.hidden = std::min(overlap.hidden, overlap.seconds);
    }
  }
  return overlaps;
}

std::string AsyncOverlapsToString(const Module& module) {
  std::optional<LineTable> lines;
  if (module.source() != nullptr) lines.emplace(*module.source());
  const PlatformRates& rates = AllPlatformRates().front();
  const Durations durations(module, rates);
  std::string text;
  double exposed = 0;
  const std::vector<AsyncOverlap> overlaps = AsyncOverlaps(module, durations);
  for (const AsyncOverlap& overlap : overlaps) {
    exposed += overlap.exposed();
    text += fmt::format("`{}` .. `{}` ({}): {}, {}, {} hidden, {} exposed\n", overlap.start->name(),
                        overlap.done->name(), PlaceOf(*overlap.start, lines ? &*lines : nullptr),
                        WhatRuns(*overlap.start), Microseconds(overlap.seconds),
                        Microseconds(overlap.hidden), Microseconds(overlap.exposed()));
    for (const Instruction* between : overlap.between)
      text += fmt::format("  {}: {}\n", between->name(), Microseconds(durations.Of(*between)));
  }
  for (const Computation* computation : module.NonFusionComputations()) {
    for (const Instruction* instruction : computation->SequenceOrPostOrder()) {
      const Instruction* const start = StartOfDone(*instruction);
      if (start == nullptr || start->parent() == computation) continue;
      text += fmt::format("`{}` .. `{}` ({}): {}, {}, begins in computation `{}`\n", start->name(),
                          instruction->name(), PlaceOf(*start, lines ? &*lines : nullptr),
                          WhatRuns(*start), Microseconds(durations.InBackground(*start)),
                          start->parent()->name());
    }
  }
  return text + fmt::format("{} pairs in one computation, {} exposed on {}\n", overlaps.size(),
                            Microseconds(exposed), rates.platform);
}

}  // namespace hlo
