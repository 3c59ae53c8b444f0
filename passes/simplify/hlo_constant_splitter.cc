#include "passes/simplify/hlo_constant_splitter.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {
namespace {

// Constants and, if asked for, what is computed from nothing else, operands first.
class ConstantExpressions {
 public:
  ConstantExpressions(const std::vector<Instruction*>& order, bool with_expressions) {
    for (Instruction* instruction : order) {
      const bool is_source =
          instruction->IsConstant() || (with_expressions && instruction->opcode() == Opcode::kIota);
      if (is_source || (with_expressions && IsExpression(*instruction))) {
        known_.insert(instruction);
        found_.push_back(instruction);
      }
    }
  }
  const std::vector<Instruction*>& found() const { return found_; }

  // Those of `value` that need one of their own. (Other expressions have theirs copied with them.)
  std::vector<Instruction*> UsersToServe(const Instruction& value) const {
    std::vector<Instruction*> users = value.users();
    const bool is_source = value.IsConstant() || value.opcode() == Opcode::kIota;
    if (is_source && users.size() <= 1) return {};
    if (!value.IsConstant())
      std::erase_if(users, [&](const Instruction* user) { return known_.contains(user); });
    return users;
  }

 private:
  bool IsExpression(const Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    return (opcode == Opcode::kBroadcast || opcode == Opcode::kSlice || IsElementwise(opcode)) &&
           instruction.call_count() == 0 && instruction.operand_count() > 0 &&
           !instruction.HasSideEffect() &&
           absl::c_all_of(instruction.operands(),
                          [&](const Instruction* operand) { return known_.contains(operand); });
  }

  absl::flat_hash_set<const Instruction*> known_;  // looked up only
  std::vector<Instruction*> found_;
};

using ExpressionCopies = absl::flat_hash_map<const Instruction*, Instruction*>;

// A copy of `value` and of all it is computed from.
Instruction* CopyOf(const Instruction& value, ExpressionCopies& copies) {
  if (const auto it = copies.find(&value); it != copies.end()) return it->second;
  std::vector<Instruction*> operands;
  for (const Instruction* operand : value.operands()) operands.push_back(CopyOf(*operand, copies));
  Instruction* copy = value.parent()->AddClone(value, value.shape(), operands);
  copy->clear_sharding();
  copies[&value] = copy;
  return copy;
}

}  // namespace

absl::StatusOr<bool> HloConstantSplitter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    const ConstantExpressions expressions(computation->PostOrder(), options_.split_expressions);
    for (Instruction* value : expressions.found()) {
      const std::vector<Instruction*> users = expressions.UsersToServe(*value);
      for (Instruction* user : users) {
        if (!context.MayRewrite()) return changed;
        ExpressionCopies copies;
        Instruction* copy = CopyOf(*value, copies);
        for (int k = 0; k < user->operand_count(); ++k) {
          if (user->operand(k) == value) user->ReplaceOperand(k, copy);
        }
        context.Count("copied");
        changed = true;
      }
      if (!users.empty()) context.Passed(*value, "each of {} users has a copy", users.size());
    }
  }
  return changed;
}

HLO_DEFINE_PASS(HloConstantSplitter)

}  // namespace hlo
