#include "passes/schedule/root_instruction_sinker.h"

#include "lib/ir/builder.h"
#include "passes/util/composite.h"

namespace hlo {
namespace {

// Builds the new root at the end of the schedule.
absl::Status SinkRoot(Computation& computation) {
  Instruction* root = computation.root();
  std::vector<Instruction*> sequence = computation.schedule();
  Builder builder(&computation, root);
  Instruction* sunk;
  if (root->shape().IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < root->shape().element_count_of_tuple(); ++i) {
      elements.push_back(builder.GetTupleElement(root, i));
      sequence.push_back(elements.back());
    }
    sunk = builder.Tuple(elements);
  } else {
    sunk = builder.Bitcast(root, root->shape());
  }
  RETURN_IF_ERROR(builder.status());
  if (root->sharding() != nullptr) sunk->set_sharding(*root->sharding());
  sequence.push_back(sunk);
  computation.set_root(sunk);
  computation.set_schedule(std::move(sequence));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> RootInstructionSinker::Run(Module& module, PassContext& context) {
  if (!module.is_scheduled()) {
    context.Missed(*module.entry()->root(),
                   "the module has no schedule; `hlo-trivial-scheduler` makes one");
    return false;
  }
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (!computation->has_schedule() || computation->schedule().back() == computation->root() ||
        IsCompositeBody(*computation))
      continue;
    const Instruction& root = *computation->root();
    if (!root.shape().IsTuple() && !root.shape().IsArray()) {
      context.Missed(root,
                     fmt::format("a value of type `{}` cannot be copied to the end", root.shape()));
      continue;
    }
    if (!context.MayRewrite()) return changed;
    RETURN_IF_ERROR(SinkRoot(*computation));
    context.Count("sunk roots");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(RootInstructionSinker)

}  // namespace hlo
