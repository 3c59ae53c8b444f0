#include "passes/simplify/module_dce.h"

#include "lib/analysis/liveness.h"
#include "lib/ir/builder.h"
#include "lib/ir/verify_meaning.h"
#include "passes/control_flow/while_loop_simplifier.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

bool AnyLeafLive(const Liveness& live, const Instruction& value, int64_t first, int64_t count) {
  for (int64_t leaf = first; leaf < first + count; ++leaf) {
    if (live.IsLive(value, leaf)) return true;
  }
  return false;
}

// Lets the elements of `loop` that nothing needs pass through. Returns how many.
int64_t PassThroughDeadElements(Instruction& loop, const Liveness& live, PassContext& context) {
  Computation& body = *loop.while_body();
  Instruction* root = body.root();
  int64_t passed = 0;
  int64_t leaf = 0;
  for (int i = 0; i < root->operand_count(); ++i) {
    const int64_t leaves = LeafCount(loop.shape().element(i));
    const bool is_live = leaves == 0 || AnyLeafLive(live, loop, leaf, leaves);
    leaf += leaves;
    if (is_live || IsParameterElement(*root->operand(i), i) || !context.MayRewrite()) continue;
    Builder builder(&body, root->operand(i));
    root->ReplaceOperand(i, builder.GetTupleElement(body.parameter(0), i));
    ++passed;
  }
  return passed;
}

}  // namespace

absl::StatusOr<bool> ModuleDce::Run(Module& module, PassContext& context) {
  const Liveness& live = context.analyses().Get<Liveness>(module);
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kWhile)) continue;
    for (Instruction* loop : computation->instruction_vector()) {
      if (loop->opcode() != Opcode::kWhile || !loop->shape().IsTuple() ||
          loop->while_body()->root()->opcode() != Opcode::kTuple ||
          loop->while_body()->root()->has_uses() || loop->while_body()->callers().size() != 1 ||
          !HasMeaning(*loop))
        continue;
      const int64_t passed = PassThroughDeadElements(*loop, live, context);
      if (passed == 0) continue;
      context.Count("dead elements", passed);
      changed = true;
    }
  }
  Dce dce;
  WhileLoopSimplifier loops;
  TupleSimplifier tuples;
  for (Pass* pass : std::initializer_list<Pass*>{&dce, &loops, &tuples, &dce}) {
    ASSIGN_OR_RETURN(const bool step_changed, RunPart(*pass, module, context));
    changed |= step_changed;
  }
  return changed;
}

HLO_DEFINE_PASS(ModuleDce)

}  // namespace hlo
