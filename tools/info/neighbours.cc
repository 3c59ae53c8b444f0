#include "tools/info/neighbours.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/source_line.h"
#include "lib/support/status.h"
#include "tools/support/find_part.h"

namespace hlo {
namespace {

using Distances = absl::flat_hash_map<const Instruction*, int64_t>;

enum class Way : char { kToOperands, kToUsers };

// The shortest distances, up to `most`; negative: any.
Distances DistancesFrom(const Instruction* start, Way way, int64_t most) {
  Distances distances = {{start, 0}};
  std::vector<const Instruction*> level = {start};
  for (int64_t distance = 1; !level.empty() && (most < 0 || distance <= most); ++distance) {
    std::vector<const Instruction*> next;
    for (const Instruction* instruction : level) {
      const auto reach = [&](const Instruction* other) {
        if (distances.emplace(other, distance).second) next.push_back(other);
      };
      if (way == Way::kToOperands) {
        for (const Instruction* operand : instruction->operands()) reach(operand);
      } else {
        for (const Instruction* user : instruction->users()) reach(user);
      }
    }
    level = std::move(next);
  }
  return distances;
}

std::string Line(const Instruction& instruction) { return ToText(instruction); }

// The instruction with its line of the program, in `COMPUTATION`.
std::string PlaceText(const Instruction& instruction) {
  const std::string source = SourceLineOf(instruction);
  return fmt::format("%{} = {} in %{}{}{}\n", instruction.name(), Text(instruction.opcode()),
                     instruction.parent()->name(), source.empty() ? "" : "  ", source);
}

void AppendCallers(const Computation& computation, int indent,
                   absl::flat_hash_set<const Computation*>& seen, std::string& text) {
  for (const CallSite& site : computation.callers()) {
    const Instruction& caller = *site.caller;
    text += std::string(static_cast<size_t>(indent), ' ') + "run by " + PlaceText(caller);
    if (seen.insert(caller.parent()).second) {
      AppendCallers(*caller.parent(), indent + 2, seen, text);
    } else if (!caller.parent()->callers().empty()) {
      text += std::string(static_cast<size_t>(indent) + 2, ' ') + "(as above)\n";
    }
  }
}

}  // namespace

absl::StatusOr<std::string> AroundText(const Module& module, std::string_view name,
                                       const Around& around) {
  ASSIGN_OR_RETURN(const Instruction* center, FindInstruction(module, name));
  Distances before, after;
  if (around.operands) before = DistancesFrom(center, Way::kToOperands, around.depth);
  if (around.users) after = DistancesFrom(center, Way::kToUsers, around.depth);
  std::string text;
  for (const Instruction* instruction : center->parent()->SequenceOrPostOrder()) {
    std::optional<int64_t> distance;
    if (const auto it = after.find(instruction); it != after.end()) distance = it->second;
    if (const auto it = before.find(instruction); it != before.end()) distance = -it->second;
    if (distance) text += fmt::format("{:>3}  {}\n", *distance, Line(*instruction));
  }
  return text;
}

absl::StatusOr<std::string> PathsText(const Module& module, std::string_view from,
                                      std::string_view to) {
  ASSIGN_OR_RETURN(const Instruction* first, FindInstruction(module, from));
  ASSIGN_OR_RETURN(const Instruction* last, FindInstruction(module, to));
  if (first->parent() != last->parent()) {
    return Error("`{}` is in computation `{}` and `{}` in `{}`; ways are those of one computation",
                 first->name(), first->parent()->name(), last->name(), last->parent()->name());
  }
  const Distances after = DistancesFrom(first, Way::kToUsers, -1);
  if (!after.contains(last)) {
    const bool is_backwards = DistancesFrom(last, Way::kToUsers, -1).contains(first);
    return Error("no value goes from `{}` to `{}`{}", first->name(), last->name(),
                 is_backwards ? ", only the other way" : "");
  }
  const Distances before = DistancesFrom(last, Way::kToOperands, -1);
  std::string text;
  for (const Instruction* instruction : first->parent()->SequenceOrPostOrder()) {
    if (after.contains(instruction) && before.contains(instruction))
      text += fmt::format("{:>3}  {}\n", after.at(instruction), Line(*instruction));
  }
  return text;
}

absl::StatusOr<std::string> StackText(const Module& module, std::string_view name) {
  ASSIGN_OR_RETURN(const Instruction* instruction, FindInstruction(module, name));
  std::string text = PlaceText(*instruction);
  absl::flat_hash_set<const Computation*> seen = {instruction->parent()};
  AppendCallers(*instruction->parent(), 2, seen, text);
  return text;
}

}  // namespace hlo
