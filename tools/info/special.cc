// What to look out for: collectives, custom calls, constants, dynamic shapes.
#include <map>

#include "lib/analysis/device_groups.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/source_line.h"
#include "lib/support/saturate.h"
#include "lib/types/elided.h"
#include "lib/types/shape_util.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

std::string_view ModeText(GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossReplica: return "replicas";
    case GroupMode::kCrossPartition: return "partitions";
    case GroupMode::kCrossReplicaAndPartition: return "replicas and partitions";
    case GroupMode::kFlattened: return "devices";
  }
  return "";
}

// "0-1, 1-0" of what sends from device to device.
std::string PairsText(const Instruction& collective) {
  if (!collective.attrs_ptr().Is<CollectivePermuteAttrs>()) return "";
  std::string text;
  for (const auto& [from, to] : collective.attrs<CollectivePermuteAttrs>().source_target_pairs)
    text += fmt::format("{}{}-{}", text.empty() ? "" : ", ", from, to);
  return text;
}

template <class F>
void ForEachInstruction(const Module& module, Opcode opcode, const F& f) {
  for (const Computation* computation : module.computations()) {
    if (!computation->MayHold(opcode)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == opcode) f(*instruction);
    }
  }
}

}  // namespace

absl::StatusOr<Section> MakeCollectives(ModuleFacts& facts) {
  Section section("collectives");
  section.Column("name", Unit::kText).Column("opcode", Unit::kText);
  section.Column("shape", Unit::kText).Column("computation", Unit::kText);
  section.Column("runs", Unit::kCount).Column("operand_bytes", Unit::kBytes);
  section.Column("group_size", Unit::kNumber).Column("between", Unit::kText);
  section.Column("groups", Unit::kText).Column("source", Unit::kText);
  for (const Computation* computation : facts.module().computations()) {
    const double runs = facts.costs().RunsOf(*computation).times;
    for (const Instruction* instruction : computation->instructions()) {
      if (!IsCollective(*instruction)) continue;
      const std::optional<GroupMode> mode = GroupModeOf(*instruction);
      section.Row({instruction->name(), instruction->opcode_text(),
                   instruction->shape().ToString(/*with_layout=*/false), computation->name(), runs,
                   OperandBytes(*instruction) * runs,
                   mode ? Datum(GroupSize(*instruction)) : Datum(), mode ? ModeText(*mode) : "",
                   mode ? ReplicaGroupsOf(*instruction).ToString() : PairsText(*instruction),
                   SourceLineOf(*instruction)});
    }
  }
  section.SortBy("operand_bytes");
  return section;
}

absl::StatusOr<Section> MakeCustomCalls(ModuleFacts& facts) {
  struct Target {
    int64_t count = 0;
    double runs = 0;
    Cost cost;
    bool has_side_effect = false;
    bool is_unknown = false;  // the interpreter has no meaning for one
  };
  std::map<std::string, Target, std::less<>> targets;
  ForEachInstruction(facts.module(), Opcode::kCustomCall, [&](const Instruction& call) {
    Target& target = targets[call.attrs<CustomCallAttrs>().custom_call_target];
    ++target.count;
    target.runs += facts.costs().RunsOf(*call.parent()).times;
    target.cost.bytes += facts.costs().Of(call).bytes;
    target.has_side_effect |= call.HasOwnSideEffect();
    target.is_unknown |= !IsEvaluableHere(call);
  });
  Section section("custom-calls");
  section.Column("target", Unit::kText).Column("count", Unit::kCount);
  section.Column("runs", Unit::kCount).Column("bytes", Unit::kBytes);
  section.Column("side_effect", Unit::kText).Column("unknown", Unit::kText);
  for (const auto& [name, target] : targets) {
    section.Row({name, target.count, target.runs, target.cost.bytes, target.has_side_effect,
                 target.is_unknown});
  }
  section.SortBy("count");
  return section;
}

absl::StatusOr<Section> MakeConstants(ModuleFacts& facts) {
  int64_t count = 0, bytes = 0, elided = 0, elided_bytes = 0;
  Section section("constants");
  section.Column("name", Unit::kText).Column("computation", Unit::kText);
  section.Column("shape", Unit::kText).Column("bytes", Unit::kBytes);
  section.Column("elided", Unit::kText);
  ForEachInstruction(facts.module(), Opcode::kConstant, [&](const Instruction& constant) {
    const bool is_elided = HoldsElided(constant.literal());
    const int64_t size = ArrayBytes(constant.shape());
    ++count;
    bytes = SaturatingAdd(bytes, size);
    elided += is_elided ? 1 : 0;
    elided_bytes = SaturatingAdd(elided_bytes, is_elided ? size : 0);
    const bool is_scalar = constant.shape().IsArray() && constant.shape().IsEffectiveScalar();
    if (is_scalar && !is_elided) return;
    section.Row({constant.name(), constant.parent()->name(),
                 constant.shape().ToString(/*with_layout=*/false), size, is_elided});
  });
  section.SortBy("bytes");
  section.Fact("count", count);
  section.Fact("bytes", bytes, Unit::kBytes);
  section.Fact("elided", elided);
  section.Fact("elided_bytes", elided_bytes, Unit::kBytes);
  return section;
}

absl::StatusOr<Section> MakeDynamic(ModuleFacts& facts) {
  Section section("dynamic");
  section.Column("name", Unit::kText).Column("opcode", Unit::kText);
  section.Column("computation", Unit::kText).Column("shape", Unit::kText);
  section.Column("source", Unit::kText);
  for (const Computation* computation : facts.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!instruction->shape().has_dynamic_dims()) continue;
      section.Row({instruction->name(), instruction->opcode_text(), computation->name(),
                   instruction->shape().ToString(/*with_layout=*/false),
                   SourceLineOf(*instruction)});
    }
  }
  return section;
}

}  // namespace hlo
