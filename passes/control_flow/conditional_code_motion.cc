#include "passes/control_flow/conditional_code_motion.h"

#include "absl/container/flat_hash_map.h"
#include "passes/control_flow/branch_groups.h"
#include "passes/control_flow/branch_motion.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/growth_limit.h"

namespace hlo {
namespace {

using Direction = MotionPlan::Direction;

bool HasSharedBranch(const Instruction& conditional) {
  const std::vector<Computation*> branches = conditional.calls();
  return absl::c_any_of(branches,
                        [](const Computation* branch) { return branch->callers().size() > 1; });
}

int64_t CountMoved(const MotionPlan& plan) {
  int64_t count = 0;
  for (const BoundaryGroup& group : plan.groups) {
    count += absl::c_count_if(group.moved, [](const Boundary& boundary) {
      return boundary.first()->opcode() != Opcode::kTuple &&
             boundary.first()->opcode() != Opcode::kGetTupleElement;
    });
  }
  return count;
}

// What stands in `clone` for what stood in `branch`, for the groups that name it.
void Redirect(MotionPlan& plan, size_t i, const Computation& branch, const Computation& clone) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  const std::vector<Instruction*> from = branch.instruction_vector();
  const std::vector<Instruction*> to = clone.instruction_vector();
  for (size_t k = 0; k < from.size(); ++k) copies[from[k]] = to[k];
  const auto redirect = [&](std::vector<Boundary>& boundaries) {
    for (Boundary& boundary : boundaries) boundary.at[i] = copies[boundary.at[i]];
  };
  for (BoundaryGroup& group : plan.groups) {
    redirect(group.moved);
    redirect(group.border);
  }
}

class OneConditionalMotion {
 public:
  OneConditionalMotion(Instruction* conditional, const ConditionalCodeMotionOptions& options,
                       PassContext& context)
      : conditional_(conditional), options_(options), context_(context) {}

  absl::StatusOr<bool> Run(MotionModel& model, GrowthLimit& growth) {
    MotionPlan plan = PlanMotion(conditional_,
                                 {options_.is_layout_sensitive, options_.memory_increase_allowance,
                                  options_.pursue_full_conditional_code_motion},
                                 model);
    if (plan.direction == Direction::kStay)
      return model.searching() ? false : MoveConverts(plan.obstacle);
    if (HasSharedBranch(*conditional_) && !MayCopyBranches(growth)) return false;
    if (!context_.MayRewrite()) return false;
    Report(plan);
    bool changed = OwnBranches(plan);
    if (plan.direction == Direction::kOut) {
      for (const BoundaryGroup& group : plan.groups)
        RETURN_IF_ERROR(MoveOutOfBranches(conditional_, group));
      return true;
    }
    std::vector<const BoundaryGroup*> readers;
    for (const BoundaryGroup& group : plan.groups) {
      if (group.moved[0].place == Boundary::Place::kReader) readers.push_back(&group);
    }
    ASSIGN_OR_RETURN(const bool readers_moved, MoveReadersIntoBranches(conditional_, readers));
    changed = changed || readers_moved;
    for (const BoundaryGroup& group : plan.groups) {
      if (group.moved[0].place != Boundary::Place::kArgument) continue;
      ASSIGN_OR_RETURN(const bool moved, MoveArgumentsIntoBranches(conditional_, group));
      changed = changed || moved;
    }
    return changed;
  }

 private:
  void Report(const MotionPlan& plan) {
    const bool out = plan.direction == Direction::kOut;
    const int64_t count = CountMoved(plan);
    context_.Passed(*conditional_, "{} instructions move {} its branches (gains: out {}, in {})",
                    count, out ? "out of" : "into", plan.gain_out, plan.gain_in);
    context_.Count(out ? "moved out" : "moved in", count);
  }

  absl::StatusOr<bool> MoveConverts(const std::string& obstacle) {
    const std::vector<int64_t> elements =
        options_.pursue_full_conditional_code_motion
            ? ConvertedElements(*conditional_, options_.is_layout_sensitive)
            : std::vector<int64_t>();
    if (elements.empty()) {
      const std::string_view reason = conditional_->is_root()
                                          ? "its computation returns its result"
                                          : "moving gains nothing at its border";
      context_.Missed(*conditional_, obstacle.empty() ? reason : obstacle);
      return false;
    }
    if (!context_.MayRewrite()) return false;
    context_.Passed(*conditional_, "{} conversions move out of its branches", elements.size());
    context_.Count("conversions moved out", static_cast<int64_t>(elements.size()));
    RETURN_IF_ERROR(MoveConvertsOutOfBranches(conditional_, elements));
    return true;
  }

  bool MayCopyBranches(GrowthLimit& growth) {
    int64_t size = 0;
    for (const Computation* branch : conditional_->calls()) {
      if (branch->callers().size() > 1) size += branch->instruction_count();
    }
    const bool may = growth.Add(size, *conditional_).ok();
    if (!may)
      context_.Missed(*conditional_, "copying its branches would make the module too large");
    return may;
  }

  // Copies the branches that others call, too, and says whether there are any.
  bool OwnBranches(MotionPlan& plan) {
    Module& module = conditional_->module();
    bool changed = false;
    for (int i = 0; i < conditional_->call_count(); ++i) {
      Computation* branch = conditional_->call(i);
      if (branch->callers().size() == 1) continue;
      Computation* clone = module.CloneComputation(*branch, ".clone", /*deep=*/false);
      module.MoveToFront(clone, conditional_->parent());
      conditional_->SetCall(i, clone);
      if (plan.direction == Direction::kOut)
        Redirect(plan, static_cast<size_t>(i), *branch, *clone);
      changed = true;
    }
    return changed;
  }

  Instruction* conditional_;
  const ConditionalCodeMotionOptions& options_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> ConditionalCodeMotion::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(MotionModel model, MotionModel::FromText(options_.search_config));
  std::vector<Instruction*> conditionals;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConditional})) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != Opcode::kConditional) continue;
      if (const Instruction* reader = WholeReader(*instruction)) {
        context.Missed(*instruction,
                       fmt::format("`{}` reads its result as a whole", reader->name()));
      } else {
        conditionals.push_back(instruction);
      }
    }
  }
  bool changed = false;
  GrowthLimit growth;
  for (Instruction* conditional : conditionals) {
    ASSIGN_OR_RETURN(const bool moved,
                     OneConditionalMotion(conditional, options_, context).Run(model, growth));
    changed = changed || moved;
  }
  if (!changed) return false;
  // Borders leave tuples that are built to be taken apart.
  RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
  RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return true;
}

HLO_DEFINE_PASS(ConditionalCodeMotion)

}  // namespace hlo
