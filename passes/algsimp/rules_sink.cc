// When broadcasts move below the operation that reads them: first of all where they were there
// before it, last where an earlier rewrite made them.
//
//   divide(broadcast(2), broadcast(4))  =>  broadcast(divide(2, 4)), not broadcast(2) * 0.25
//
// The move itself stands with the other rules for broadcasts (SinkBroadcastRules).

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

Instruction* SinkFirst(Instruction* op, Rewriter& rewriter) {
  const auto operands = op->operands();
  const bool all_before = absl::c_all_of(
      operands, [&](const Instruction* operand) { return operand->id() < op->id(); });
  return all_before ? SinkBroadcastRules()[0].apply(op, rewriter) : nullptr;
}

std::vector<Rule> MakeRules() {
  std::vector<Rule> rules;
  for (const Rule& rule : SinkBroadcastRules())
    rules.push_back({"sink-broadcast-first", rule.root, rule.safety, SinkFirst});
  return rules;
}

}  // namespace

std::span<const Rule> SinkBroadcastFirstRules() {
  static const std::vector<Rule> rules = MakeRules();
  return rules;
}

}  // namespace hlo::algsimp
