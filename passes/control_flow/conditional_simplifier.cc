#include "passes/control_flow/conditional_simplifier.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/analysis/side_effects.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/elementwise.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/contains.h"
#include "passes/control_flow/branch_select.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/rewrite.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// XLA counts every collective, also one without a channel.
bool UsesChannel(const Instruction& instruction) {
  return kSendRecvOps.Has(instruction.opcode()) || HasTrait(instruction.opcode(), kCollective);
}

bool CallsChannels(const Instruction& instruction) {
  for (const Computation* callee : instruction.calls()) {
    for (const Instruction* inner : callee->instructions()) {
      if (UsesChannel(*inner) || CallsChannels(*inner)) return true;
    }
  }
  return false;
}

// What is cheap to run besides elementwise operations; the list of XLA, whose answer is to be given
// here (lib/analysis/cost.h would count transposes as cheap, too).
constexpr Opcode kCheapInBranch[] = {
    Opcode::kConstant,        Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice,
    Opcode::kGetTupleElement, Opcode::kReduce,    Opcode::kReshape,     Opcode::kPad,
    Opcode::kParameter,       Opcode::kSlice,     Opcode::kTuple};

bool IsCheap(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kFusion) {
    const std::vector<Instruction*> fused = instruction.call(0)->instruction_vector();
    return absl::c_all_of(fused, [](const Instruction* x) {
      return x->opcode() == Opcode::kParameter || x->IsConstant() || WorksByElement(*x);
    });
  }
  return opcode == Opcode::kMap || WorksByElement(instruction) || Contains(kCheapInBranch, opcode);
}

bool IsCheapToRun(const Computation& branch) {
  return absl::c_all_of(branch.instruction_vector(),
                        [](const Instruction* instruction) { return IsCheap(*instruction); });
}

// Whether `branch` gives arrays and does nothing for them.
bool OnlyPassesArray(const Computation& branch) {
  bool has_array = false;
  ForEachLeaf(branch.root()->shape(),
              [&](Shape leaf, const ShapeIndex&) { has_array |= leaf.IsArray(); });
  if (!has_array) return false;
  for (const Instruction* instruction : branch.instructions()) {
    if (instruction->opcode() != Opcode::kTuple &&
        instruction->opcode() != Opcode::kGetTupleElement &&
        instruction->opcode() != Opcode::kParameter)
      return false;
  }
  return true;
}

class OneConditional {
 public:
  OneConditional(Instruction* conditional, PassContext& context, SideEffects& effects)
      : conditional_(conditional), context_(context), effects_(effects) {}

  absl::StatusOr<bool> Simplify() {
    bool changed = MergeResults();
    ASSIGN_OR_RETURN(const bool dropped, DropResults());
    ASSIGN_OR_RETURN(const bool removed, Remove());
    return changed || dropped || removed;
  }

 private:
  // The branch, changed for this conditional alone.
  Computation* OwnBranch(int i) {
    Computation* branch = conditional_->call(i);
    if (branch->callers().size() == 1) return branch;
    Module& module = conditional_->module();
    Computation* clone = module.CloneComputation(*branch, ".clone", /*deep=*/false);
    module.MoveToFront(clone, conditional_->parent());
    conditional_->SetCall(i, clone);
    return clone;
  }

  // 1. (…, x, …, x, …)
  bool MergeResults() {
    if (!conditional_->shape().IsTuple() || !OnlyElementsRead(*conditional_)) return false;
    for (const Computation* branch : conditional_->calls()) {
      if (branch->root()->opcode() != Opcode::kTuple) return false;
    }
    bool changed = false;
    for (Instruction* element : conditional_->users()) {
      const int64_t index = element->tuple_index();
      const int64_t first = FirstEqual(index);
      if (first == index) continue;
      if (!context_.MayRewrite()) return changed;
      element->SetAttrs(GetTupleElementAttrs{first});
      context_.Count("merged results");
      changed = true;
    }
    return changed;
  }

  int64_t FirstEqual(int64_t index) const {
    for (int64_t i = 0; i < index; ++i) {
      const std::vector<Computation*> branches = conditional_->calls();
      if (absl::c_all_of(branches, [&](const Computation* branch) {
            return branch->root()->operand(static_cast<int>(i)) ==
                   branch->root()->operand(static_cast<int>(index));
          }))
        return i;
    }
    return index;
  }

  // 2. and 3.
  absl::StatusOr<bool> DropResults() {
    if (conditional_->is_root()) return false;
    const Shape shape = conditional_->shape();
    std::vector<int64_t> kept;
    if (conditional_->has_uses()) {
      if (!shape.IsTuple() || !OnlyElementsRead(*conditional_)) return false;
      std::vector<bool> read(shape.elements().size(), false);
      for (const Use& use : conditional_->uses())
        read[static_cast<size_t>(use.user->tuple_index())] = true;
      for (size_t i = 0; i < read.size(); ++i) {
        if (read[i]) kept.push_back(static_cast<int64_t>(i));
      }
      if (kept.size() == read.size()) return false;
    } else if (shape.IsTuple() && shape.elements().empty()) {
      return false;
    }
    if (!context_.MayRewrite()) return false;
    std::vector<Shape> shapes;
    for (int64_t i : kept) shapes.push_back(shape.element(static_cast<int>(i)));
    for (int i = 0; i < conditional_->call_count(); ++i) {
      Computation* branch = OwnBranch(i);
      Instruction* root = branch->root();
      Builder builder(branch, root);
      std::vector<Instruction*> elements;
      for (int64_t k : kept) elements.push_back(ReadElement(builder, root, k));
      branch->set_root(builder.Tuple(elements));
      RETURN_IF_ERROR(builder.status());
    }
    conditional_->set_shape(Shape::Tuple(shapes));
    if (conditional_->extras() != nullptr) conditional_->mutable_extras().origin.reset();
    for (Instruction* element : conditional_->users()) {
      const auto at = absl::c_find(kept, element->tuple_index());
      element->SetAttrs(GetTupleElementAttrs{at - kept.begin()});
    }
    context_.Count(
        "dropped results",
        shape.IsTuple() ? static_cast<int64_t>(shape.elements().size() - kept.size()) : 1);
    return true;
  }

  // 4.
  absl::StatusOr<bool> Remove() {
    if (conditional_->has_control_edges() || effects_.Of(*conditional_) ||
        !FrontendAttribute(*conditional_, "_scheduling_group_id").empty())
      return false;
    if (const std::optional<int> branch = OnlyBranch()) {
      if (!context_.MayRewrite()) return false;
      context_.Passed(*conditional_, "it always takes branch {}", *branch);
      RETURN_IF_ERROR(TakeBranch(*branch));
      context_.Count("decided");
      return true;
    }
    const Instruction* index = conditional_->operand(0);
    if (conditional_->call_count() != 2 || index->shape().element_type() != ElementType::kPred)
      return false;
    for (const Computation* branch : conditional_->calls()) {
      if (!IsCheapToRun(*branch)) {
        context_.Missed(*conditional_,
                        fmt::format("running `{}` in vain would cost too much", branch->name()));
        return false;
      }
      if (OnlyPassesArray(*branch)) return false;
    }
    if (!context_.MayRewrite()) return false;
    context_.Passed(*conditional_, "both branches run, a select takes the results");
    RETURN_IF_ERROR(ReplaceBySelect(conditional_, conditional_->operand(0)));
    context_.Count("selects");
    return true;
  }

  std::optional<int> OnlyBranch() const {
    if (conditional_->call_count() == 1) return 0;
    const Instruction* index = conditional_->operand(0);
    if (!index->IsConstant() || index->literal().is_elided()) return std::nullopt;
    const int64_t value = index->literal().GetInt();
    if (index->shape().element_type() == ElementType::kPred) return value != 0 ? 0 : 1;
    const int last = conditional_->call_count() - 1;
    return value < 0 || value > last ? last : static_cast<int>(value);
  }

  absl::Status TakeBranch(int branch) {
    Computation& computation = *conditional_->parent();
    const uint32_t first_new = computation.module().id_limit();
    Builder builder(&computation, conditional_);
    Instruction* call =
        builder.Call({conditional_->operand(1 + branch)}, conditional_->call(branch));
    RETURN_IF_ERROR(builder.status());
    ReplaceKeepingExtras(conditional_, call, first_new);
    if (MayBeInlined(*call)) InlineBody(call);
    return absl::OkStatus();
  }

  Instruction* conditional_;
  PassContext& context_;
  SideEffects& effects_;
};

// 5. Whether `branch` is called by conditionals without shardings only, reads its parameter by
//    element and not all of it.
bool HasUnreadOperands(const Computation& branch, std::vector<int64_t>& read) {
  const Instruction& parameter = *branch.parameter(0);
  if (!parameter.shape().IsTuple() || !OnlyElementsRead(parameter)) return false;
  std::vector<bool> used(parameter.shape().elements().size(), false);
  for (const Use& use : parameter.uses()) used[static_cast<size_t>(use.user->tuple_index())] = true;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) read.push_back(static_cast<int64_t>(i));
  }
  return read.size() < used.size();
}

// Makes `branch`, which reads the elements `read` of its parameter, take only these from all
// conditionals that call it.
absl::Status ShrinkParameter(Computation* branch, const std::vector<int64_t>& read) {
  Module& module = branch->module();
  std::vector<CallSite> sites;
  bool others = false;
  for (const CallSite& site : branch->callers()) {
    const bool ours =
        site.caller->opcode() == Opcode::kConditional && site.caller->sharding() == nullptr;
    if (ours) sites.push_back(site);
    others = others || !ours;
  }
  absl::c_sort(sites, [](const CallSite& a, const CallSite& b) {
    return std::pair(a.caller->id(), a.call_index) < std::pair(b.caller->id(), b.call_index);
  });
  if (others) {
    Computation* clone = module.CloneComputation(*branch, ".clone", /*deep=*/false);
    module.MoveToFront(clone, sites[0].caller->parent());
    branch = clone;
  }
  Instruction* parameter = branch->parameter(0);
  std::vector<Shape> shapes;
  for (int64_t i : read) shapes.push_back(parameter->shape().element(static_cast<int>(i)));
  parameter->set_shape(Shape::Tuple(shapes));
  if (parameter->extras() != nullptr) {
    parameter->mutable_extras().origin.reset();
    parameter->clear_sharding();
  }
  for (Instruction* element : parameter->users()) {
    const auto at = absl::c_find(read, element->tuple_index());
    element->SetAttrs(GetTupleElementAttrs{at - read.begin()});
  }
  for (const CallSite& site : sites) {
    Instruction* operand = site.caller->operand(site.call_index + 1);
    Builder builder(site.caller->parent(), operand);
    std::vector<Instruction*> elements;
    for (int64_t i : read) elements.push_back(ReadElement(builder, operand, i));
    site.caller->ReplaceOperand(site.call_index + 1, builder.Tuple(elements));
    site.caller->SetCall(site.call_index, branch);
    RETURN_IF_ERROR(builder.status());
    if (operand->opcode() == Opcode::kTuple && !operand->is_used() && !operand->has_control_edges())
      operand->parent()->RemoveUnused(operand);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ConditionalSimplifier::Run(Module& module, PassContext& context) {
  std::vector<Instruction*> conditionals;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConditional})) {
    if (IsAsyncBody(*computation)) continue;  // holds one operation
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kConditional && instruction->sharding() == nullptr &&
          !CallsChannels(*instruction))
        conditionals.push_back(instruction);
    }
  }
  auto& effects = context.analyses().Get<SideEffects>(module);
  bool changed = false;
  for (Instruction* conditional : conditionals) {
    ASSIGN_OR_RETURN(const bool simplified,
                     OneConditional(conditional, context, effects).Simplify());
    changed |= simplified;
  }
  for (Instruction* conditional : conditionals) {
    if (conditional->is_dead()) continue;
    for (int i = 0; i < conditional->call_count(); ++i) {
      std::vector<int64_t> read;
      if (!HasUnreadOperands(*conditional->call(i), read)) continue;
      if (!context.MayRewrite()) return changed;
      RETURN_IF_ERROR(ShrinkParameter(conditional->call(i), read));
      context.Count("shrunk operands");
      changed = true;
    }
  }
  if (!changed) return false;
  // Fusions of a branch that was taken for good have one caller again.
  const std::vector<Computation*> all = module.computations();
  const bool leaves_fusions = absl::c_any_of(all, [](const Computation* left) {
    return !left->is_entry() && left->callers().empty() && left->MayHoldAny({Opcode::kFusion});
  });
  if (leaves_fusions) module.RemoveUnusedComputations();
  return true;
}

HLO_DEFINE_PASS(ConditionalSimplifier)

}  // namespace hlo
