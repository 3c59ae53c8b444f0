#include "passes/control_flow/while_loop_invariant_code_motion.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/side_effects.h"
#include "lib/analysis/trip_count.h"
#include "lib/types/shape_util.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/rewrite.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/loop_state.h"
#include "passes/util/origins.h"
#include "passes/util/own_body.h"

namespace hlo {
namespace {

bool HasTokens(Shape shape) {
  bool found = false;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) { found = found || !leaf.IsArray(); });
  return found;
}

class LoopHoister {
 public:
  LoopHoister(Instruction* loop, PassContext& context, SideEffects& effects,
              const WhileLoopInvariantCodeMotionOptions& options)
      : loop_(loop), context_(context), effects_(effects), options_(options) {}

  absl::StatusOr<bool> Run() {
    if (!MayHoist()) return false;
    outside_[loop_->while_body()->parameter(0)] = loop_->operand(0);
    Choose();
    if (chosen_.empty()) return false;
    std::vector<Instruction*> wanted;
    std::swap(wanted, chosen_);
    for (Instruction* instruction : wanted) {
      if (!context_.MayRewrite()) break;
      context_.Passed(*instruction, "computed once, before loop `{}`", loop_->name());
      Hoist(instruction);
      chosen_.push_back(instruction);
    }
    if (chosen_.empty()) return false;
    context_.Count("hoisted", static_cast<int64_t>(chosen_.size()));
    RETURN_IF_ERROR(CarryHoisted());
    return true;
  }

 private:
  bool MayHoist() const {
    const Computation& body = *loop_->while_body();
    if (!loop_->shape().IsTuple() || body.root()->opcode() != Opcode::kTuple ||
        loop_->while_condition() == &body)
      return false;
    if (!FrontendAttribute(*loop_, "_xla_disable_loop_instr_hoisting").empty()) return false;
    for (const Instruction* instruction : body.instructions()) {
      if (instruction->opcode() == Opcode::kDomain) return false;
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      const std::string_view target =
          std::string_view(instruction->attrs<CustomCallAttrs>().custom_call_target);
      if (target == "SPMDFullToShardShape" || target == "SPMDShardShapeToFull" ||
          target == "MoveToHost" || target == "MoveToDevice")
        return false;
    }
    if (RunsAtMostOnce(*loop_)) return false;
    if (options_.hoist_constants) return true;
    for (int i = 0; i < body.root()->operand_count(); ++i) {
      if (IsParameterElement(*body.root()->operand(i), i) &&
          body.root()->operand(i)->shape().IsArray())
        return true;
    }
    return false;
  }

  // What of the body can and should be computed before the loop, operands first.
  void Choose() {
    invariant_.clear();
    waiting_.clear();
    known_.clear();
    chosen_.clear();
    FindInvariants();
    for (Instruction* instruction : loop_->while_body()->PostOrder()) {
      if (!IsHoistable(*instruction)) continue;
      (IsCheap(*instruction) ? waiting_ : known_).insert(instruction);
      if (known_.contains(instruction)) chosen_.push_back(instruction);
    }
  }

  // Reads of arrays that pass through.
  void FindInvariants() {
    const Computation& body = *loop_->while_body();
    for (Instruction* read : body.parameter(0)->users()) {
      if (read->opcode() != Opcode::kGetTupleElement || !read->shape().IsArray() ||
          read->has_control_edges())
        continue;
      const int64_t i = read->tuple_index();
      if (IsParameterElement(*body.root()->operand(static_cast<int>(i)), i))
        invariant_.insert(read);
    }
  }

  bool IsKnown(Instruction* operand) const {
    return invariant_.contains(operand) || known_.contains(operand) || waiting_.contains(operand) ||
           operand->IsConstant();
  }

  bool IsHoistable(Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kParameter || opcode == Opcode::kAfterAll ||
        invariant_.contains(&instruction) || instruction.is_root() ||
        instruction.has_control_edges() || HasTokens(instruction.shape()) ||
        effects_.Of(instruction))
      return false;
    // Both halves of a pair, or none.
    if (HasTrait(opcode, kAsyncStart) || HasTrait(opcode, kAsyncDone) ||
        opcode == Opcode::kAsyncUpdate)
      return false;
    if (!std::all_of(instruction.operands().begin(), instruction.operands().end(),
                     [&](Instruction* operand) { return IsKnown(operand); }))
      return false;
    const bool is_constant = opcode == Opcode::kConstant;
    if (!options_.hoist_other && !is_constant && opcode != Opcode::kReshape) return false;
    if (is_constant || options_.hoist_size_inflation_ratio < 0) return true;
    int64_t input = 0;
    for (const Instruction* operand : instruction.operands()) input += ArrayBytes(operand->shape());
    return static_cast<double>(ArrayBytes(instruction.shape())) <=
           options_.hoist_size_inflation_ratio * static_cast<double>(input);
  }

  // Not worth an element of the state on its own; no question of cost, but XLA's list.
  bool IsCheap(const Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kConstant) return !options_.hoist_constants;
    if (opcode == Opcode::kReshape) return !options_.hoist_reshapes;
    if (opcode == Opcode::kCustomCall)
      return instruction.attrs<CustomCallAttrs>().custom_call_target == "Sharding";
    return opcode == Opcode::kBitcast || opcode == Opcode::kBroadcast || opcode == Opcode::kIota ||
           opcode == Opcode::kReverse || opcode == Opcode::kSlice || opcode == Opcode::kTranspose ||
           opcode == Opcode::kTuple;
  }

  // Copies `instruction` and what waited for it in front of the loop.
  void Hoist(Instruction* instruction) {
    std::vector<Instruction*> stack = {instruction};
    while (!stack.empty()) {
      Instruction* top = stack.back();
      const size_t before = stack.size();
      for (Instruction* operand : top->operands()) {
        if (!outside_.contains(operand)) stack.push_back(operand);
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      if (outside_.contains(top)) continue;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : top->operands()) operands.push_back(outside_.at(operand));
      outside_[top] = CopyOutside(*top, operands);
    }
  }

  Instruction* CopyOutside(const Instruction& original,
                           const std::vector<Instruction*>& operands) const {
    Instruction* copy = loop_->parent()->AddClone(original, original.shape(), operands);
    copy->set_loc(original.loc());
    // `#*`: the value in whichever iteration.
    if (const std::optional<std::string> loop = OriginalCall(*loop_); loop && !loop->empty()) {
      PrefixOrigin(copy, *loop + "#*");
    } else if (!loop) {
      SetOrigin(copy, nullptr);
    }
    if (original.IsFusion()) TakeOwnBody(copy);
    return copy;
  }

  // Adds the hoisted values to the state and lets the body read them there.
  absl::Status CarryHoisted() {
    std::vector<Instruction*> values;
    for (const Instruction* inner : chosen_) values.push_back(outside_.at(inner));
    ASSIGN_OR_RETURN(WidenedLoop wide, WidenLoop(loop_, values));
    for (size_t k = 0; k < chosen_.size(); ++k)
      ReplaceKeepingExtras(wide.body_copies.at(chosen_[k]), wide.added[k], wide.added[k]->id());
    return absl::OkStatus();
  }

  Instruction* loop_;
  PassContext& context_;
  SideEffects& effects_;
  const WhileLoopInvariantCodeMotionOptions& options_;
  absl::flat_hash_set<const Instruction*> invariant_;              // reads of the state
  absl::flat_hash_set<const Instruction*> waiting_;                // cheap, invariant
  absl::flat_hash_set<const Instruction*> known_;                  // invariant, to be hoisted
  std::vector<Instruction*> chosen_;                               // the same in order
  absl::flat_hash_map<const Instruction*, Instruction*> outside_;  // -> the copy
};

}  // namespace

absl::StatusOr<bool> WhileLoopInvariantCodeMotion::Run(Module& module, PassContext& context) {
  std::vector<Instruction*> loops;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kWhile) loops.push_back(instruction);
    }
  }
  auto& effects = context.analyses().Get<SideEffects>(module);
  bool changed = false;
  for (Instruction* loop : loops) {
    ASSIGN_OR_RETURN(const bool hoisted, LoopHoister(loop, context, effects, options_).Run());
    changed |= hoisted;
  }
  if (changed) {
    RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
    RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
    RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  }
  return changed;
}

HLO_DEFINE_PASS(WhileLoopInvariantCodeMotion)

}  // namespace hlo
