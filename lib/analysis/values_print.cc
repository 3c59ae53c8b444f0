#include <fmt/format.h>

#include <algorithm>

#include "lib/analysis/leaves.h"
#include "lib/analysis/values.h"

namespace hlo {
namespace {

std::string_view KindText(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kDefined: return "";
    case Value::Kind::kLoopState: return "loop state";
    case Value::Kind::kBranch: return "branch value";
    case Value::Kind::kShared: return "shared value";
  }
  return "";
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string Values::NameOf(ValueId value) const {
  return NameOfLeaf(*(*this)[value].def, (*this)[value].leaf);
}

std::string Values::ToString(const Module& module) {
  const Values values(module);
  std::vector<std::vector<std::string>> places(values.values_.size()), readers(places.size());
  const auto note = [&](const Instruction& instruction) {
    const absl::Span<const ValueId> leaves = values.Of(instruction);
    for (size_t i = 0; i < leaves.size(); ++i) {
      std::string name = NameOfLeaf(instruction, static_cast<int64_t>(i));
      if (name != values.NameOf(leaves[i]))
        places[static_cast<size_t>(leaves[i])].push_back(std::move(name));
    }
    if (!values.Reads(instruction)) return;
    for (const Instruction* operand : instruction.operands()) {
      for (const ValueId value : values.Of(*operand)) {
        std::vector<std::string>& names = readers[static_cast<size_t>(value)];
        if (names.empty() || names.back() != instruction.name())
          names.emplace_back(instruction.name());
      }
    }
  };
  for (const ProgramStep& step : values.order_) {
    if (step.kind == ProgramStep::Kind::kVisit || step.kind == ProgramStep::Kind::kEnd)
      note(*step.instruction);
  }
  std::string text;
  for (ValueId id = 0; id < values.count(); ++id) {
    const Value& value = values[id];
    text += fmt::format("{}: {}", values.NameOf(id), value.shape);
    if (value.kind != Value::Kind::kDefined) {
      std::vector<std::string> inputs;
      for (const ValueId input : value.inputs) inputs.push_back(values.NameOf(input));
      text += fmt::format(", {} of {}", KindText(value.kind), Joined(inputs));
    }
    text += '\n';
    const auto number = static_cast<size_t>(id);
    if (!places[number].empty()) text += fmt::format("  also {}\n", Joined(places[number]));
    if (!readers[number].empty()) text += fmt::format("  read by {}\n", Joined(readers[number]));
  }
  return text;
}

}  // namespace hlo
