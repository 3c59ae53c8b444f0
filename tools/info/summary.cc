// The module in a few numbers.
#include <array>

#include "lib/eval/evaluator.h"
#include "lib/support/saturate.h"
#include "lib/types/elided.h"
#include "lib/types/shape_util.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

constexpr size_t kFusionKinds = std::size(EnumText<FusionKind>::kWords);

struct Census {
  std::array<int64_t, kFusionKinds> fusions = {};
  int64_t loops_of_unknown_length = 0;
  int64_t conditionals = 0;
  int64_t collectives = 0;
  double collective_bytes = 0;
  int64_t custom_calls = 0;
  int64_t unknown_custom_calls = 0;
  int64_t constants = 0;
  int64_t constant_bytes = 0;
  int64_t elided_constants = 0;
  int64_t dynamic = 0;
};

void Count(const Instruction& instruction, double runs, Census& census) {
  if (instruction.shape().has_dynamic_dims()) ++census.dynamic;
  if (instruction.opcode() == Opcode::kFusion) {
    ++census.fusions[static_cast<size_t>(instruction.attrs<FusionAttrs>().kind)];
  } else if (instruction.opcode() == Opcode::kConditional) {
    ++census.conditionals;
  } else if (instruction.opcode() == Opcode::kCustomCall) {
    ++census.custom_calls;
    census.unknown_custom_calls += IsEvaluableHere(instruction) ? 0 : 1;
  } else if (instruction.IsConstant()) {
    ++census.constants;
    census.constant_bytes = SaturatingAdd(census.constant_bytes, ArrayBytes(instruction.shape()));
    census.elided_constants += HoldsElided(instruction.literal()) ? 1 : 0;
  } else if (IsCollective(instruction)) {
    ++census.collectives;
    census.collective_bytes += OperandBytes(instruction) * runs;
  }
}

Census CensusOf(const ModuleFacts& facts) {
  Census census;
  for (const Computation* computation : facts.module().computations()) {
    const double runs = facts.costs().RunsOf(*computation).times;
    for (const Instruction* instruction : computation->instructions())
      Count(*instruction, runs, census);
  }
  for (const ProgramCost::Loop& loop : facts.costs().loops())
    census.loops_of_unknown_length += loop.trip_count ? 0 : 1;
  return census;
}

// "3 (kLoop 2, kInput 1)".
std::string FusionsText(const Census& census) {
  std::string kinds;
  int64_t all = 0;
  for (size_t kind = 0; kind < kFusionKinds; ++kind) {
    if (census.fusions[kind] == 0) continue;
    all += census.fusions[kind];
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", EnumText<FusionKind>::kWords[kind],
                         census.fusions[kind]);
  }
  return all == 0 ? "" : fmt::format("{} ({})", all, kinds);
}

void AddInterface(const Module& module, Section& section) {
  int64_t bytes = 0;
  for (const Instruction* parameter : module.entry()->parameters())
    bytes = SaturatingAdd(bytes, ArrayBytes(parameter->shape()));
  section.Fact("entry", module.entry()->name(), Unit::kText);
  section.Fact("scheduled", module.is_scheduled(), Unit::kText);
  section.Fact("replicas", module.config().replica_count, Unit::kNumber);
  section.Fact("partitions", module.config().num_partitions, Unit::kNumber);
  section.Fact("parameters", module.entry()->parameter_count());
  section.Fact("parameter_bytes", bytes, Unit::kBytes);
  section.Fact("aliased", module.config().aliases.size());
  section.Fact("donated", module.config().donors.size());
  section.Fact("results", LeafCount(module.entry()->root()->shape()));
  section.Fact("result_bytes", ArrayBytes(module.entry()->root()->shape()), Unit::kBytes);
}

}  // namespace

absl::StatusOr<Section> MakeSummary(ModuleFacts& facts) {
  const Module& module = facts.module();
  const Census census = CensusOf(facts);
  const Cost& cost = facts.costs().total();
  Section section("summary");
  AddInterface(module, section);
  section.Fact("computations", module.computation_count());
  section.Fact("instructions", module.instruction_count());
  section.Fact("fusions", FusionsText(census), Unit::kText);
  section.Fact("loops", facts.costs().loops().size());
  section.Fact("loops_of_unknown_length", census.loops_of_unknown_length);
  section.Fact("conditionals", census.conditionals);
  section.Fact("collectives", census.collectives);
  section.Fact("collective_bytes", census.collective_bytes, Unit::kBytes);
  section.Fact("custom_calls", census.custom_calls);
  section.Fact("unknown_custom_calls", census.unknown_custom_calls);
  section.Fact("constants", census.constants);
  section.Fact("constant_bytes", census.constant_bytes, Unit::kBytes);
  section.Fact("elided_constants", census.elided_constants);
  section.Fact("dynamic_shapes", census.dynamic);
  section.Fact("flops", cost.flops);
  section.Fact("transcendentals", cost.transcendentals);
  section.Fact("bytes", cost.bytes, Unit::kBytes);
  section.Fact("intensity", cost.bytes > 0 ? (cost.flops + cost.transcendentals) / cost.bytes : 0);
  section.Fact("runs_guessed", !facts.costs().is_known(), Unit::kText);
  section.Fact("estimated_time", facts.SecondsOf(cost), Unit::kSeconds);
  ASSIGN_OR_RETURN(const MemoryUse* memory, facts.Memory());
  section.Fact("peak_bytes", memory->peak.bytes, Unit::kBytes);
  return section;
}

}  // namespace hlo
