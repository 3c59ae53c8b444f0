#include "lib/analysis/alias.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/analysis/entry_aliases.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/updated_operands.h"
#include "lib/types/memory_order.h"

namespace hlo {

bool IsAliasWhenDense(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const auto is_dynamic = [&] {
    return instruction.shape().has_dynamic_dims() ||
           instruction.operand(0)->shape().has_dynamic_dims();
  };
  if (opcode == Opcode::kBitcast)
    return !is_dynamic() &&
           KeepsRowMajorOrder(instruction.operand(0)->shape(), instruction.shape());
  if (opcode == Opcode::kReshape) return !is_dynamic();
  return IsAlias(instruction) || HasTrait(opcode, kKeepsBytes);
}

namespace {

std::vector<InPlacePair> Declared(const Instruction& instruction,
                                  const OutputOperandAliases& aliases) {
  std::vector<InPlacePair> pairs;
  for (const OutputOperandAlias& alias : aliases) {
    const auto operand = static_cast<int>(alias.operand);
    if (operand < 0 || operand >= instruction.operand_count()) continue;
    const InPlacePair pair{operand,
                           LeafNumber(instruction.operand(operand)->shape(), alias.operand_index),
                           LeafNumber(instruction.shape(), alias.output), /*must=*/true};
    if (pair.operand_leaf >= 0 && pair.leaf >= 0) pairs.push_back(pair);
  }
  return pairs;
}

// A result of a fusion that updates a part of a parameter.
void AppendUpdate(const Instruction& output, int64_t leaf, std::vector<InPlacePair>& pairs) {
  const Instruction* value = &output;
  while (value->opcode() == Opcode::kBitcast) value = value->operand(0);
  if (UpdatedOperandCount(*value) == 0) return;
  const Instruction* target = value->operand(0);
  while (target->opcode() == Opcode::kBitcast) target = target->operand(0);
  if (target->opcode() == Opcode::kParameter)
    pairs.push_back({static_cast<int>(target->parameter_number()), 0, leaf});
}

std::vector<InPlacePair> OfFusion(const Instruction& fusion) {
  std::vector<InPlacePair> pairs =
      Declared(fusion, fusion.attrs<FusionAttrs>().output_to_operand_aliasing);
  const Instruction& root = *fusion.fused_computation()->root();
  if (root.opcode() != Opcode::kTuple) {
    AppendUpdate(root, 0, pairs);
    return pairs;
  }
  for (int i = 0; i < root.operand_count(); ++i) AppendUpdate(*root.operand(i), i, pairs);
  return pairs;
}

// A collective-permute that puts slices of arrays into others, its second operand.
bool IsUpdateByPermute(const Instruction& instruction) {
  constexpr OpcodeSet kPermutes = {Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart};
  return kPermutes.Has(instruction.opcode()) && instruction.operand_count() == 4;
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  std::vector<InPlacePair> pairs;
  if (instruction.IsFusion()) return OfFusion(instruction);
  if (opcode == Opcode::kCustomCall)
    return Declared(instruction, instruction.attrs<CustomCallAttrs>().output_to_operand_aliasing);
  if (opcode == Opcode::kSetDimensionSize) {
    pairs.push_back({0, 0, 0});
  } else if (opcode == Opcode::kAllReduceStart) {
    for (int i = 0; i < instruction.operand_count(); ++i) pairs.push_back({i, 0, i});
  } else if (IsUpdateByPermute(instruction)) {
    const int64_t written = LeafCount(instruction.operand(1)->shape());
    const int64_t first =
        opcode == Opcode::kCollectivePermuteStart ? FirstLeaf(instruction.shape(), 1) : 0;
    for (int64_t i = 0; i < written; ++i) pairs.push_back({1, i, first + i});
  } else if (const int updated = UpdatedOperandCount(instruction); updated > 0) {
    for (int i = 0; i < updated; ++i) pairs.push_back({i, 0, i});
  } else if (HasTrait(opcode, kElementwise) && instruction.shape().IsArray()) {
    for (int i = 0; i < instruction.operand_count(); ++i) {
      const Shape operand = instruction.operand(i)->shape();
      if (SameDimensions(operand, instruction.shape()) &&
          operand.byte_size() == instruction.shape().byte_size())
        pairs.push_back({i, 0, 0});
    }
  }
  return pairs;
}

// ---- sets ----

AliasSets::AliasSets(const Values& values) : sets_(values.count()) {
  for (ValueId id = 0; id < values.count(); ++id) {
    for (const ValueId input : values[id].inputs) sets_.Unite(id, input);
  }
  for (const ProgramStep& step : values.order()) {
    const Instruction& instruction = *step.instruction;
    if (step.kind != ProgramStep::Kind::kVisit || instruction.operand_count() == 0) continue;
    if (!instruction.IsFusion() && instruction.opcode() != Opcode::kCustomCall) continue;
    for (const InPlacePair& pair : InPlacePairs(instruction)) {
      if (!pair.must) continue;
      sets_.Unite(
          values.Of(instruction)[static_cast<size_t>(pair.leaf)],
          values.Of(*instruction.operand(pair.operand))[static_cast<size_t>(pair.operand_leaf)]);
    }
  }
  const Computation& entry = *values.module().entry();
  for (const EntryAlias& alias : EntryAliases(values.module()))
    sets_.Unite(values.Of(*alias.parameter)[alias.from], values.Of(*entry.root())[alias.to]);
}

std::string AliasSets::Mistake(const Module& module) const {
  const Values values(module);
  const AliasSets fresh(values);
  if (fresh.sets_.count() != sets_.count())
    return fmt::format("there are {} values, not {}", fresh.sets_.count(), sets_.count());
  for (ValueId id = 0; id < values.count(); ++id) {
    if (fresh.SetOf(id) != SetOf(id))
      return fmt::format("value `{}` has another place now", values.NameOf(id));
  }
  return "";
}

std::string AliasSets::ToString(const Module& module) {
  const Values values(module);
  const AliasSets sets(values);
  std::vector<std::vector<ValueId>> members(static_cast<size_t>(values.count()));
  for (ValueId id = 0; id < values.count(); ++id)
    members[static_cast<size_t>(sets.SetOf(id))].push_back(id);
  std::string text;
  for (const std::vector<ValueId>& set : members) {
    if (set.size() < 2) continue;
    text += "one place:";
    for (const ValueId id : set) text += fmt::format(" {}", values.NameOf(id));
    text += "\n";
  }
  for (const ProgramStep& step : values.order()) {
    if (step.kind != ProgramStep::Kind::kVisit) continue;
    for (const InPlacePair& pair : InPlacePairs(*step.instruction)) {
      text += fmt::format("{}: leaf {} {} be written over operand {}", step.instruction->name(),
                          pair.leaf, pair.must ? "is to" : "may", pair.operand);
      if (pair.operand_leaf > 0) text += fmt::format(", leaf {}", pair.operand_leaf);
      text += "\n";
    }
  }
  return text;
}

}  // namespace hlo
