#include "passes/control_flow/loop_copies.h"

#include "lib/ops/opcode_groups.h"
#include "passes/util/calls_opcode.h"
#include "passes/util/channels.h"
#include "passes/util/origins.h"

namespace hlo {

namespace {

// "x" => "x.copy" => "x.copy2" => "x.copy3"
std::string WithSuffix(std::string_view name, std::string_view suffix) {
  const size_t at = name.rfind(suffix);
  if (at == name.npos) return fmt::format("{}{}", name, suffix);
  const std::string_view digits = name.substr(at + suffix.size());
  int64_t number = 1;
  if (digits.find_first_not_of("0123456789") != digits.npos || digits.size() > 9)
    return fmt::format("{}{}", name, suffix);
  for (size_t i = 0; i < digits.size(); ++i)
    number = (i == 0 ? 0 : number * 10) + (digits[i] - '0');
  return fmt::format("{}{}", name.substr(0, at + suffix.size()), number + 1);
}

}  // namespace

IterationCopier::IterationCopier(Module& module)
    : module_(module), next_channel_(NextChannelId(module)) {}

std::vector<Instruction*> IterationCopier::Copy(const std::vector<Instruction*>& order,
                                                Computation* target, std::string_view suffix,
                                                CopyMap& copies) {
  std::vector<Instruction*> made;
  for (const Instruction* original : order) {
    if (copies.contains(original)) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : original->operands()) operands.push_back(copies.at(operand));
    Instruction* copy = target->AddClone(*original, original->shape(), operands);
    copy->set_loc(original->loc());
    if (!suffix.empty()) module_.Rename(copy, WithSuffix(original->name(), suffix));
    // A fusion keeps its body to itself, and so does what runs asynchronously.
    if (original->IsFusion() || original->opcode() == Opcode::kAsyncStart) {
      Computation* const own = module_.CloneComputation(*original->call(0), ".clone",
                                                        /*deep=*/!original->IsFusion());
      RenewChannels(*own);
      copy->SetCall(0, own);
    }
    if (ReplaceChannelId(copy, next_channel_)) ++next_channel_;
    copies[original] = copy;
    made.push_back(copy);
  }
  for (const Instruction* original : order) {
    Instruction* copy = copies.at(original);
    for (const Instruction* predecessor : original->control_predecessors()) {
      const auto at = copies.find(predecessor);
      if (at != copies.end() && at->second != predecessor && at->second != copy)
        copy->AddControlPredecessor(at->second);
    }
  }
  return made;
}

void IterationCopier::RenewChannels(Computation& computation) {
  for (Instruction* instruction : computation.instructions()) {
    if (ReplaceChannelId(instruction, next_channel_)) ++next_channel_;
  }
}

void SetOriginInIteration(Instruction* copy, const Instruction& loop, int64_t iteration) {
  const std::optional<std::string> name = OriginalCall(loop);
  if (!name) {
    SetOrigin(copy, nullptr);
  } else if (!name->empty()) {
    PrefixOrigin(copy, fmt::format("{}#{}", *name, iteration));
  }
}

bool HasOtherEffects(const Instruction& instruction) {
  if (!instruction.HasSideEffect()) return false;
  if (instruction.HasOwnSideEffect()) return !HasTrait(instruction.opcode(), kCollective);
  for (const Computation* called : instruction.calls()) {
    const std::vector<Instruction*> all = called->instruction_vector();
    if (absl::c_any_of(all, [](const Instruction* inner) { return HasOtherEffects(*inner); }))
      return true;
  }
  return false;
}

void KeepEffectsInOrder(const std::vector<Instruction*>& before,
                        const std::vector<Instruction*>& next) {
  std::vector<Instruction*> earlier;
  for (Instruction* instruction : before) {
    if (HasOtherEffects(*instruction)) earlier.push_back(instruction);
  }
  if (earlier.empty()) return;
  for (Instruction* copy : next) {
    if (!HasOtherEffects(*copy)) continue;
    for (Instruction* instruction : earlier) copy->AddControlPredecessor(instruction);
  }
}

bool MayCopyIterations(const Instruction& loop) {
  const std::vector<Instruction*> condition = loop.while_condition()->instruction_vector();
  const bool has_effects = absl::c_any_of(
      condition, [](const Instruction* instruction) { return instruction->HasSideEffect(); });
  return !has_effects && !CallsOpcode(loop, kSendRecvOps);
}

}  // namespace hlo
