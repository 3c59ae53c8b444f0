#include "passes/simplify/hlo_constant_splitter.h"

#include "absl/container/flat_hash_set.h"

namespace hlo {
namespace {

// Constants and, if asked for, what is computed from nothing else.
class ConstantExpressions {
 public:
  ConstantExpressions(const std::vector<Instruction*>& order, bool with_expressions) {
    for (const Instruction* instruction : order) {
      if (instruction->has_control_edges() || instruction->sharding() != nullptr) continue;
      if (instruction->IsConstant() || (with_expressions && IsExpression(*instruction)))
        known_.insert(instruction);
    }
  }
  bool Has(const Instruction& instruction) const { return known_.contains(&instruction); }

 private:
  bool IsExpression(const Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kIota) return true;
    return (opcode == Opcode::kBroadcast || IsElementwise(opcode)) &&
           instruction.call_count() == 0 && !instruction.HasSideEffect() &&
           absl::c_all_of(instruction.operands(),
                          [&](const Instruction* operand) { return known_.contains(operand); });
  }

  absl::flat_hash_set<const Instruction*> known_;  // looked up only
};

Instruction* CopyOf(const Instruction& value, const ConstantExpressions& expressions) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : value.operands())
    operands.push_back(expressions.Has(*operand) ? CopyOf(*operand, expressions) : operand);
  return value.parent()->AddClone(value, value.shape(), operands);
}

}  // namespace

absl::StatusOr<bool> HloConstantSplitter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    const std::vector<Instruction*> order = computation->PostOrder();
    const ConstantExpressions expressions(order, options_.split_expressions);
    // Users first: an expression is copied with its operands.
    for (size_t i = order.size(); i-- > 0;) {
      Instruction* value = order[i];
      if (!expressions.Has(*value) || value->has_one_user() || !value->has_uses()) continue;
      const std::vector<Instruction*> users = value->users();
      for (size_t user = 1; user < users.size(); ++user) {
        if (!context.MayRewrite()) return changed;
        Instruction* copy = CopyOf(*value, expressions);
        for (int k = 0; k < users[user]->operand_count(); ++k) {
          if (users[user]->operand(k) == value) users[user]->ReplaceOperand(k, copy);
        }
        context.Count("copied");
        changed = true;
      }
      context.Passed(*value, "each of its {} users has a copy", users.size());
    }
  }
  return changed;
}

HLO_DEFINE_PASS(HloConstantSplitter)

}  // namespace hlo
