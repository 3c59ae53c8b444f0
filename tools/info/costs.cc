// What takes time: instructions, lines of the source program, loops.
#include "absl/container/flat_hash_map.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/source_line.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

Datum Intensity(const Cost& cost) {
  return cost.bytes > 0 ? Datum((cost.flops + cost.transcendentals) / cost.bytes) : Datum();
}

bool IsNothing(const Cost& cost) {
  return cost.flops == 0 && cost.transcendentals == 0 && cost.bytes == 0;
}

// What is read of each operand in all runs together.
std::vector<double> BytesOfOperands(const Instruction& instruction, double runs) {
  std::vector<double> bytes;
  for (int i = 0; i < instruction.operand_count(); ++i)
    bytes.push_back(BytesRead(instruction, i) * runs);
  return bytes;
}

struct LineCost {
  std::string line;
  int64_t instructions = 0;
  Cost cost;
};

// Costs by line of the source program, in the order in which lines come up.
class LineCosts {
 public:
  // Operations in a fusion belong to their own lines, its bytes to that of the fusion.
  void Add(const Instruction& instruction, const Cost& cost, double runs) {
    const size_t line = LineOf(SourceLineOf(instruction));
    ++lines_[line].instructions;
    lines_[line].cost.bytes += cost.bytes;
    if (!instruction.IsFusion()) {
      AddOperations(line, cost.flops, cost.transcendentals);
      return;
    }
    for (const Instruction* inside : instruction.fused_computation()->instructions()) {
      const Cost once = CostOf(*inside);
      if (once.flops == 0 && once.transcendentals == 0) continue;
      const std::string own = SourceLineOf(*inside);
      AddOperations(own.empty() ? line : LineOf(own), once.flops * runs,
                    once.transcendentals * runs);
    }
  }

  const std::vector<LineCost>& lines() const { return lines_; }

 private:
  size_t LineOf(const std::string& line) {
    const auto [it, is_new] = numbers_.try_emplace(line, lines_.size());
    if (is_new) lines_.push_back({line, 0, {}});
    return it->second;
  }
  void AddOperations(size_t line, double flops, double transcendentals) {
    lines_[line].cost.flops += flops;
    lines_[line].cost.transcendentals += transcendentals;
  }

  std::vector<LineCost> lines_;
  absl::flat_hash_map<std::string, size_t> numbers_;
};

std::string CounterText(const Instruction& loop) {
  const std::optional<int64_t> index = InductionIndex(loop);
  if (!index) return "";
  const std::optional<CountedLoop> counted = MatchCountedLoop(loop, *index);
  if (!counted) return fmt::format("element {}", *index);
  return fmt::format("element {} from {} by {} to {}", *index, counted->init, counted->step,
                     counted->final_value());
}

}  // namespace

absl::StatusOr<Section> MakeCost(ModuleFacts& facts) {
  Section section("cost");
  section.Column("name", Unit::kText).Column("opcode", Unit::kText);
  section.Column("shape", Unit::kText).Column("computation", Unit::kText);
  section.Column("runs", Unit::kCount).Column("flops", Unit::kCount);
  section.Column("transcendentals", Unit::kCount).Column("bytes", Unit::kBytes);
  section.Column("operand_bytes", Unit::kBytes).Column("written_bytes", Unit::kBytes);
  section.Column("intensity", Unit::kCount).Column("share", Unit::kShare);
  section.Column("source", Unit::kText);
  for (const Computation* computation : facts.module().computations()) {
    const double runs = facts.costs().RunsOf(*computation).times;
    if (runs == 0) continue;
    for (const Instruction* instruction : computation->instructions()) {
      const Cost& cost = facts.costs().Of(*instruction);
      if (IsNothing(cost)) continue;
      section.Row({instruction->name(), instruction->opcode_text(),
                   instruction->shape().ToString(/*with_layout=*/false), computation->name(), runs,
                   cost.flops, cost.transcendentals, cost.bytes,
                   BytesOfOperands(*instruction, runs), BytesWritten(*instruction) * runs,
                   Intensity(cost), facts.ShareOf(cost), SourceLineOf(*instruction)});
    }
  }
  section.SortBy("share");
  return section;
}

absl::StatusOr<Section> MakeSource(ModuleFacts& facts) {
  LineCosts costs;
  for (const Computation* computation : facts.module().computations()) {
    const double runs = facts.costs().RunsOf(*computation).times;
    if (runs == 0) continue;
    for (const Instruction* instruction : computation->instructions()) {
      const Cost& cost = facts.costs().Of(*instruction);
      if (!IsNothing(cost)) costs.Add(*instruction, cost, runs);
    }
  }
  Section section("source");
  section.Column("source", Unit::kText).Column("instructions", Unit::kCount);
  section.Column("flops", Unit::kCount).Column("transcendentals", Unit::kCount);
  section.Column("bytes", Unit::kBytes).Column("intensity", Unit::kCount);
  section.Column("share", Unit::kShare);
  // Where no line is known there is nothing to tell apart.
  const std::vector<LineCost>& lines = costs.lines();
  if (lines.size() == 1 && lines[0].line.empty()) return section;
  for (const LineCost& line : lines) {
    section.Row({line.line.empty() ? Datum() : Datum(line.line), line.instructions, line.cost.flops,
                 line.cost.transcendentals, line.cost.bytes, Intensity(line.cost),
                 facts.ShareOf(line.cost)});
  }
  section.SortBy("share");
  return section;
}

absl::StatusOr<Section> MakeLoops(ModuleFacts& facts) {
  Section section("loops");
  section.Column("name", Unit::kText).Column("computation", Unit::kText);
  section.Column("runs", Unit::kCount).Column("trip_count", Unit::kCount);
  section.Column("counter", Unit::kText).Column("body", Unit::kText);
  section.Column("body_share", Unit::kShare).Column("source", Unit::kText);
  for (const ProgramCost::Loop& found : facts.costs().loops()) {
    const Instruction& loop = *found.loop;
    const Computation& body = *loop.while_body();
    section.Row({loop.name(), loop.parent()->name(), facts.costs().RunsOf(*loop.parent()).times,
                 found.trip_count, CounterText(loop), body.name(),
                 facts.ShareOf(facts.costs().Of(body)), SourceLineOf(loop)});
  }
  return section;
}

}  // namespace hlo
