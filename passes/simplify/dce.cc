#include "passes/simplify/dce.h"

#include <algorithm>

#include "lib/analysis/side_effects.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/opcode_groups.h"
#include "passes/util/constrained_layout.h"
#include "passes/util/entry_parameters.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/plain_fusion.h"

namespace hlo {
namespace {

// Loops marked with one of these keep what nobody reads.
constexpr std::string_view kLoopKeys[] = {
    "xla_disable_while_loop_dce", "xla.disable_while_loop_dce", "xla_preserve_tuple_indices",
    "xla.preserve_tuple_indices"};

class DeadCode {
 public:
  DeadCode(Module& module, PassContext& context, const DceOptions& options)
      : module_(module),
        context_(context),
        options_(options),
        effects_(context.analyses().Get<SideEffects>(module)) {}

  bool Run() {
    bool changed = false;
    std::vector<Computation*> order = context_.Computations(module_);
    absl::c_reverse(order);  // callers first: a dead call frees what it called
    for (Computation* computation : order) {
      if (!computation->is_entry() && computation->callers().empty())
        continue;  // goes as a whole below
      changed |= RemoveDead(*computation);
      changed |= ShrinkFusions(*computation);  // after it: elements that nobody reads are gone
      changed |= RemoveDeadParameters(*computation);
    }
    const int removed = module_.RemoveUnusedComputations();
    context_.Count("computations", removed);
    if (removed_effects_) context_.analyses().Forget();
    return changed || removed > 0;
  }

 private:
  // ---- outputs of fusions ----

  bool ShrinkFusions(Computation& computation) {
    bool changed = false;
    for (Instruction* fusion : computation.instruction_vector()) {
      if (fusion->is_dead() || !fusion->IsFusion() || !CanShrink(*fusion)) continue;
      const std::vector<bool> used = UsedOutputs(*fusion);
      if (!absl::c_linear_search(used, false) || !context_.MayRewrite()) continue;
      Shrink(*fusion, used);
      context_.Count("fusion outputs", absl::c_count(used, false));
      changed = true;
    }
    return changed;
  }

  static bool CanShrink(const Instruction& fusion) {
    const Instruction* root = fusion.fused_computation()->root();
    if (root->opcode() != Opcode::kTuple || root->sharding() != nullptr) return false;
    if (fusion.fused_computation()->callers().size() != 1) return false;
    if (fusion.is_root() || !fusion.has_uses() || fusion.has_control_edges()) return false;
    const auto& attrs = fusion.attrs<FusionAttrs>();
    if (attrs.kind == FusionKind::kCustom || !attrs.output_to_operand_aliasing.empty())
      return false;
    return absl::c_all_of(fusion.uses(), [](const Use& use) {
      return use.user->opcode() == Opcode::kGetTupleElement;
    });
  }

  std::vector<bool> UsedOutputs(const Instruction& fusion) {
    const Instruction* root = fusion.fused_computation()->root();
    std::vector<bool> used(static_cast<size_t>(root->operand_count()), false);
    for (const Use& use : fusion.uses()) used[static_cast<size_t>(use.user->tuple_index())] = true;
    for (int i = 0; i < root->operand_count(); ++i) {
      if (effects_.Of(*root->operand(i))) used[static_cast<size_t>(i)] = true;
    }
    return used;
  }

  // What is known of each result, of those that are left.
  static void ShrinkExtras(Instruction& fusion, const std::vector<bool>& used) {
    if (fusion.extras() == nullptr) return;
    Extras& extras = fusion.mutable_extras();
    const auto keep_used = [&](auto& elements) {
      auto next = elements.begin();
      for (size_t i = 0; i < used.size(); ++i) {
        if (used[i]) *next++ = elements[i];
      }
      elements.erase(next, elements.end());
    };
    if (extras.origin && extras.origin->tree.children.size() == used.size()) {
      std::vector<OriginalValue::Node>& children = extras.origin->tree.children;
      keep_used(children);
      if (children.size() == 1) {
        const OriginalValue::Node only = children[0];
        extras.origin->tree = only;
      }
    }
    if (extras.sharding && extras.sharding->is_tuple &&
        extras.sharding->leaves.size() == used.size()) {
      keep_used(extras.sharding->leaves);
      extras.sharding->is_tuple = extras.sharding->leaves.size() > 1;
    }
  }

  // fusion -> (x0, x1, x2) with x1 unread  =>  fusion -> (x0, x2); with one left  =>  fusion -> x0
  static void Shrink(Instruction& fusion, const std::vector<bool>& used) {
    Computation& body = *fusion.fused_computation();
    Instruction* old_root = body.root();
    std::vector<Instruction*> kept;
    std::vector<int64_t> new_index(used.size(), -1);
    std::vector<Shape> shapes;
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      new_index[i] = static_cast<int64_t>(kept.size());
      kept.push_back(old_root->operand(static_cast<int>(i)));
      shapes.push_back(fusion.shape().element(static_cast<int>(i)));
    }
    const bool single = kept.size() == 1;
    if (single) {
      body.set_root(kept[0]);
      fusion.set_shape(shapes[0]);
    } else {
      Instruction* root = body.AddClone(*old_root, Shape::Tuple(shapes), kept);
      body.set_root(root);
      fusion.set_shape(Shape::Tuple(shapes));
    }
    ShrinkExtras(fusion, used);
    body.RemoveUnused(old_root);
    for (Instruction* gte : fusion.users()) {
      if (single) {
        fusion.parent()->Replace(gte, &fusion);
      } else {
        gte->SetAttrs(GetTupleElementAttrs{new_index[static_cast<size_t>(gte->tuple_index())]});
      }
    }
  }

  // ---- instructions ----

  bool RemoveDead(Computation& computation) {
    const std::vector<Instruction*> order = computation.PostOrder();
    bool changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      if (order[i]->is_dead() || !IsDead(*order[i]) || !context_.MayRewrite()) continue;
      RemoveWithOperands(order[i]);
      changed = true;
    }
    return changed;
  }

  // And what only `instruction` needed.
  void RemoveWithOperands(Instruction* instruction) {
    std::vector<Instruction*> worklist = {instruction};
    while (!worklist.empty()) {
      Instruction* next = worklist.back();
      worklist.pop_back();
      if (next->is_dead() || (next != instruction && !GoesWithUsers(*next))) continue;
      const std::vector<Instruction*> operands = next->operand_vector();
      context_.Passed(*next, "nothing needs it");
      next->parent()->Remove(next);
      context_.Count("instructions");
      worklist.insert(worklist.end(), operands.begin(), operands.end());
    }
  }

  // Whether control edges hold the instruction: in a fusion, which runs at once, they say nothing.
  static bool IsHeld(const Instruction& instruction) {
    return instruction.has_control_edges() && !instruction.parent()->is_fusion();
  }

  static bool IsUnneeded(const Instruction& instruction) {
    return !instruction.is_used() && !IsHeld(instruction) &&
           instruction.opcode() != Opcode::kParameter;
  }

  // What kept its last user kept it: annotations and attributes that hold something by itself do
  // not count.
  bool GoesWithUsers(const Instruction& operand) {
    return IsUnneeded(operand) && !EndsWhatStays(operand) && !effects_.Of(operand);
  }

  bool IsDead(const Instruction& instruction) {
    if (!IsUnneeded(instruction)) return false;
    if (KeepsStateOfLoops(instruction) || SaysOfRemoval(instruction, "false")) return false;
    if (AnnotatesOperand(instruction) || EndsWhatStays(instruction)) return false;
    if (!effects_.Of(instruction)) return true;
    if (!MayRemoveDespiteEffect(instruction)) return false;
    removed_effects_ = true;
    return true;
  }

  static bool IsStepOfAsync(Opcode opcode) { return kAsyncOps.Has(opcode); }

  static bool GoesOn(const Instruction& step) {
    return step.opcode() == Opcode::kAsyncUpdate || HasTrait(step.opcode(), kAsyncDone);
  }

  // Whether the attribute for it says `value`, of the instruction or of what started it.
  static bool SaysOfRemoval(const Instruction& instruction, std::string_view value) {
    const Instruction* step = &instruction;
    while (FrontendAttribute(*step, "xla_allow_dce_side_effecting_op") != value) {
      if (!GoesOn(*step) || !IsStepOfAsync(step->opcode())) return false;
      step = step->operand(0);
    }
    return true;
  }

  static bool KeepsStateOfLoops(const Instruction& instruction) {
    return std::any_of(std::begin(kLoopKeys), std::end(kLoopKeys),
                       [&](std::string_view key) { return HasTrueAttribute(instruction, key); });
  }

  // What ends or goes on with an operation that was started and may not go.
  bool EndsWhatStays(const Instruction& instruction) {
    const Instruction* step = &instruction;
    while (GoesOn(*step)) {
      step = step->operand(0);
      if (step->has_control_edges() || (effects_.Of(*step) && !MayRemoveDespiteEffect(*step)))
        return true;
    }
    return false;
  }

  // custom-call Sharding says something about its operand; it goes only with a producer of its own.
  static bool AnnotatesOperand(const Instruction& instruction) {
    if (!IsCustomCall(instruction, "Sharding") || instruction.operand_count() == 0) return false;
    const Instruction* operand = instruction.operand(0);
    return operand->is_root() || operand->opcode() == Opcode::kParameter ||
           operand->use_count() > 1;
  }

  bool MayRemoveDespiteEffect(const Instruction& instruction) {
    if (IsPermitted(instruction)) return true;
    if (!options_.remove_cross_partition_collective_ops) return false;
    if (instruction.opcode() != Opcode::kWhile) return IsRemovableCollective(instruction);
    for (const Computation* callee : instruction.calls()) {
      for (const Instruction* inner : callee->instructions()) {
        if (effects_.Of(*inner) && !IsRemovableCollective(*inner)) return false;
      }
    }
    return true;
  }

  // The program itself says that the effect is none.
  static bool IsPermitted(const Instruction& instruction) {
    const bool may_say = instruction.opcode() == Opcode::kCustomCall
                             ? IsCustomCall(instruction, "tpu_custom_call")
                             : IsStepOfAsync(instruction.opcode());
    return may_say && SaysOfRemoval(instruction, "true");
  }

  // A collective, or a step of an asynchronous one. XLA does not count permutations here.
  static bool IsRemovableCollective(const Instruction& instruction) {
    const Instruction* step = &instruction;
    while (GoesOn(*step) && IsStepOfAsync(step->opcode())) step = step->operand(0);
    const Instruction& collective =
        step->opcode() == Opcode::kAsyncStart ? *step->call(0)->root() : *step;
    return HasTrait(collective.opcode(), kCollective) &&
           collective.opcode() != Opcode::kCollectivePermute &&
           !HasTrait(collective.opcode(), kAsyncStart) &&
           !HasTrait(collective.opcode(), kAsyncDone) && !ConstrainsLayout(collective);
  }

  // ---- parameters ----

  bool RemoveDeadParameters(Computation& computation) {
    if (computation.is_entry()) {
      return options_.remove_dead_parameters_from_entry_computation &&
             RemoveDeadEntryParameters(computation);
    }
    for (const CallSite& site : computation.callers()) {
      if (!CanDropOperands(*site.caller)) return false;
    }
    bool changed = false;
    for (int i = computation.parameter_count(); i-- > 0;) {
      if (!IsDeadParameter(*computation.parameter(i)) || !context_.MayRewrite()) continue;
      std::vector<Instruction*> operands;
      for (const CallSite& site : computation.callers())
        operands.push_back(site.caller->operand(i));
      context_.Passed(*computation.parameter(i), "nothing reads it");
      computation.RemoveParameterAndOperands(i);
      for (Instruction* operand : operands) RemoveIfDead(operand);
      context_.Count("parameters");
      changed = true;
    }
    return changed;
  }

  bool CanDropOperands(const Instruction& caller) const {
    if (caller.opcode() == Opcode::kCall) return options_.use_call_analysis;
    return IsPlainFusion(caller);
  }

  static bool IsDeadParameter(const Instruction& parameter) {
    return !parameter.is_used() && !IsHeld(parameter);
  }

  void RemoveIfDead(Instruction* instruction) {
    if (!instruction->is_dead() && GoesWithUsers(*instruction)) RemoveWithOperands(instruction);
  }

  bool RemoveDeadEntryParameters(Computation& entry) {
    ModuleConfig& config = module_.config();
    bool changed = false;
    for (int i = entry.parameter_count(); i-- > 0;) {
      if (!IsDeadParameter(*entry.parameter(i)) || IsAliased(config, i) || !context_.MayRewrite())
        continue;
      context_.Passed(*entry.parameter(i), "nothing reads it");
      entry.RemoveParameter(i);
      ForgetEntryParameter(config, i);
      context_.Count("parameters");
      changed = true;
    }
    return changed;
  }

  static bool IsAliased(const ModuleConfig& config, int64_t parameter) {
    return absl::c_any_of(
               config.aliases,
               [=](const InputOutputAlias& alias) { return alias.parameter == parameter; }) ||
           absl::c_any_of(config.donors,
                          [=](const BufferDonor& donor) { return donor.parameter == parameter; });
  }

  Module& module_;
  PassContext& context_;
  const DceOptions& options_;
  SideEffects& effects_;
  bool removed_effects_ = false;
};

}  // namespace

absl::StatusOr<bool> Dce::Run(Module& module, PassContext& context) {
  return DeadCode(module, context, options_).Run();
}

HLO_DEFINE_PASS(Dce)

}  // namespace hlo
