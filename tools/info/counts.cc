// How many there are of what: opcodes, element types, computations.
#include <algorithm>
#include <array>
#include <map>

#include "lib/ir/any_instruction.h"
#include "lib/ops/ops.h"
#include "lib/support/saturate.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

// Instructions by element type of the result; of tuples `tuple`.
using TypeCounts = std::array<int64_t, kElementTypeCount>;

std::string TypesText(const TypeCounts& counts) {
  std::vector<std::pair<int64_t, int>> order;  // most first, then as in the table of types
  for (int type = 0; type < kElementTypeCount; ++type) {
    if (const int64_t count = counts[static_cast<size_t>(type)]; count > 0)
      order.emplace_back(-count, type);
  }
  std::sort(order.begin(), order.end());
  std::string text;
  for (const auto& [count, type] : order) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Text(static_cast<ElementType>(type)),
                        -count);
  }
  return text;
}

struct OpcodeCount {
  int64_t count = 0;
  int64_t fused = 0;
  TypeCounts types = {};
  Cost cost;
};

// What a computation is for. Of what the entry does not lead to nothing runs.
std::string_view RoleOf(const Computation& computation, CallGraph& calls) {
  if (computation.is_entry()) return "entry";
  if (computation.is_fusion()) return "fusion";
  switch (calls.ContextOf(computation)) {
    case CallContext::kUnreached: return "unused";
    case CallContext::kControlFlow: return "program";
    case CallContext::kEmbedded: return "region";
    case CallContext::kBoth: return "program and region";
  }
  return "";
}

// "while", or "while and 2 more" of several call sites.
std::string CallersText(const Computation& computation) {
  const absl::Span<const CallSite> sites = computation.callers();
  if (sites.empty()) return "";
  std::string text(sites[0].caller->name());
  if (sites.size() > 1) text += fmt::format(" and {} more", sites.size() - 1);
  return text;
}

}  // namespace

absl::StatusOr<Section> MakeOps(ModuleFacts& facts) {
  std::vector<OpcodeCount> ops(kOpcodeCount);
  for (const Computation* computation : facts.module().computations()) {
    const bool is_fusion = computation->is_fusion();
    for (const Instruction* instruction : computation->instructions()) {
      OpcodeCount& op = ops[static_cast<size_t>(instruction->opcode())];
      ++op.count;
      op.fused += is_fusion ? 1 : 0;
      ++op.types[static_cast<size_t>(instruction->shape().element_type())];
      const Cost& cost = facts.costs().Of(*instruction);
      op.cost.flops += cost.flops;
      op.cost.transcendentals += cost.transcendentals;
      op.cost.bytes += cost.bytes;
    }
  }
  Section section("ops");
  section.Column("opcode", Unit::kText).Column("count", Unit::kCount);
  section.Column("in_fusions", Unit::kCount).Column("flops", Unit::kCount);
  section.Column("transcendentals", Unit::kCount).Column("bytes", Unit::kBytes);
  section.Column("share", Unit::kShare).Column("types", Unit::kText);
  for (size_t opcode = 0; opcode < ops.size(); ++opcode) {
    const OpcodeCount& op = ops[opcode];
    if (op.count == 0) continue;
    section.Row({Text(static_cast<Opcode>(opcode)), op.count, op.fused, op.cost.flops,
                 op.cost.transcendentals, op.cost.bytes, facts.ShareOf(op.cost),
                 TypesText(op.types)});
  }
  section.SortBy("count");
  return section;
}

absl::StatusOr<Section> MakeTypes(ModuleFacts& facts) {
  std::array<std::array<int64_t, 2>, kElementTypeCount> types = {};  // instructions, bytes
  for (const Instruction* instruction : AllInstructions(facts.module())) {
    auto& [count, bytes] = types[static_cast<size_t>(instruction->shape().element_type())];
    ++count;
    if (instruction->shape().IsArray())
      bytes = SaturatingAdd(bytes, instruction->shape().byte_size());
  }
  Section section("types");
  section.Column("type", Unit::kText).Column("instructions", Unit::kCount);
  section.Column("bytes", Unit::kBytes);
  for (int type = 0; type < kElementTypeCount; ++type) {
    const auto& [count, bytes] = types[static_cast<size_t>(type)];
    if (count > 0) section.Row({Text(static_cast<ElementType>(type)), count, bytes});
  }
  section.SortBy("instructions");
  return section;
}

absl::StatusOr<Section> MakeComputations(ModuleFacts& facts) {
  Section section("computations");
  section.Column("computation", Unit::kText).Column("role", Unit::kText);
  section.Column("instructions", Unit::kCount).Column("runs", Unit::kCount);
  section.Column("runs_guessed", Unit::kText).Column("flops", Unit::kCount);
  section.Column("transcendentals", Unit::kCount).Column("bytes", Unit::kBytes);
  section.Column("share", Unit::kShare).Column("called_by", Unit::kText);
  for (const Computation* computation : facts.module().computations()) {
    const Runs& runs = facts.costs().RunsOf(*computation);
    const Cost& cost = facts.costs().Of(*computation);
    section.Row({computation->name(), RoleOf(*computation, facts.calls()),
                 computation->instruction_count(), runs.times, !runs.is_known, cost.flops,
                 cost.transcendentals, cost.bytes, facts.ShareOf(cost), CallersText(*computation)});
  }
  section.SortBy("share");
  return section;
}

absl::StatusOr<Section> MakeCounts(ModuleFacts& facts) {
  Section section("counts");
  section.Column("computation", Unit::kText).Column("opcode", Unit::kText);
  section.Column("type", Unit::kText).Column("count", Unit::kCount);
  for (const Computation* computation : facts.module().computations()) {
    std::map<std::pair<std::string_view, std::string_view>, int64_t> counts;  // by text
    for (const Instruction* instruction : computation->instructions())
      ++counts[{instruction->opcode_text(), Text(instruction->shape().element_type())}];
    for (const auto& [key, count] : counts)
      section.Row({computation->name(), key.first, key.second, count});
  }
  return section;
}

}  // namespace hlo
