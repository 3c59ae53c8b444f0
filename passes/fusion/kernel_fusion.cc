#include "passes/fusion/kernel_fusion.h"

#include "lib/analysis/alias.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/kernel_groups.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/kernel_uses.h"
#include "passes/fusion/row_groups.h"

namespace hlo {
namespace {

constexpr size_t kMaxReaders = 8;
constexpr int64_t kMaxRowOutputs = 4;

class Fuser {
 public:
  Fuser(Computation& computation, const FusionTarget& target, const KernelFusionOptions& options,
        PassContext& context)
      : computation_(computation),
        target_(target),
        context_(context),
        kernels_(target, options, computation.module().id_limit()),
        place_(computation.module().id_limit(), 0) {}

  bool Run() {
    const std::vector<Instruction*> order = computation_.SequenceOrPostOrder();
    for (size_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    for (size_t i = order.size(); i-- > 0;) Place(order[i]);
    if (target_.one_loop) JoinReductions();
    bool changed = false;
    for (const KernelGroup& group : kernels_.groups) {
      if (group.members.empty()) continue;  // merged into another
      if (group.members.size() > 1 || HasCheapOperand(*group.root)) {
        MakeFusion(group);
        changed = true;
      }
    }
    return changed;
  }

 private:
  // Puts `instruction` into the group of its users, or starts one.
  void Place(Instruction* instruction) {
    if (!IsFusible(*instruction) || instruction->HasSideEffect() ||
        instruction->has_control_edges() || !instruction->is_used())
      return;
    const bool may_copy = !instruction->is_root() && kernels_.AllUsersFusible(*instruction);
    if (may_copy && IsCheapToRepeat(*instruction)) {
      kernels_.copied[instruction] = true;
      return;  // copied into its users' kernels
    }
    const int target = kernels_.CommonGroup(*instruction);
    if (target >= 0 && kernels_.MayJoin(*instruction, target)) {
      Join(instruction, target);
      return;
    }
    if (target >= 0) {
      context_.Missed(*instruction,
                      fmt::format("the kernel of `{}`, which reads it, cannot compute it",
                                  kernels_.groups[static_cast<size_t>(target)].root->name()));
    }
    if (may_copy && target_.repeats_simple && IsSimpleLoop(*instruction) &&
        kernels_.MayJoinAll(*instruction)) {
      kernels_.copied[instruction] = true;
      return;
    }
    if (target_.row_kernels && JoinAsOutputOfRows(instruction)) return;
    if (target_.max_outputs > 1 && JoinAsOutput(instruction)) return;
    // Names for values that own no memory, and constants, are no kernels of their own.
    if (IsAliasWhenDense(*instruction) || instruction->IsConstant()) return;
    kernels_.Add(instruction);
  }

  void Join(Instruction* instruction, int target) {
    kernels_.Join(instruction, target);
    context_.Count("instructions fused");
  }

  // ---- kernels with several outputs ----

  // Puts an elementwise instruction that several kernels read, or others besides one, into these
  // kernels, which become one: its result is then read from a register where it was from memory.
  // Rolls that nobody else reads, too.
  bool JoinAsOutput(Instruction* instruction) {
    const bool is_roll = kernels_.IsRoll(*instruction);
    if ((!is_roll && !IsFusibleElementwise(*instruction)) || instruction->is_root() ||
        instruction->shape().element_count() == 1)
      return false;
    std::vector<int> targets;
    bool has_other_users = false;
    for (const Use& use : instruction->uses()) {
      const int group = kernels_.group_of.Get(use.user);
      if (group < 0 ||
          !kernels_.IsPlainFor(*instruction, kernels_.groups[static_cast<size_t>(group)]) ||
          !IsFusibleElementwise(*use.user)) {
        has_other_users = true;
      } else if (kernels_.IsRolledIn(*instruction, group)) {
        return false;
      } else if (!absl::c_linear_search(targets, group)) {
        targets.push_back(group);
      }
    }
    if (targets.empty() || (is_roll && has_other_users) ||
        !kernels_.MayMerge(targets, *instruction, has_other_users))
      return false;
    absl::c_sort(targets);
    for (size_t i = 1; i < targets.size(); ++i) kernels_.Merge(targets[0], targets[i]);
    Join(instruction, targets[0]);
    if (has_other_users)
      kernels_.groups[static_cast<size_t>(targets[0])].more_outputs.push_back(instruction);
    return true;
  }

  // Puts an instruction into the first kernel of rows that reads it and that others, which read it,
  // too, do not come before: the sum that a normalisation and the next layer take.
  bool JoinAsOutputOfRows(Instruction* instruction) {
    if (instruction->is_root() || !instruction->shape().IsArray() ||
        !(instruction->opcode() == Opcode::kReduce || IsFusibleElementwise(*instruction)))
      return false;
    for (const int number : kernels_.GroupsThatRead(*instruction)) {
      if (number < 0) continue;
      KernelGroup& group = kernels_.groups[static_cast<size_t>(number)];
      if (!MayBeOutputOfRows(*instruction, *group.root, group.row_size) ||
          std::ssize(group.more_outputs) + 1 >= kMaxRowOutputs ||
          !kernels_.MayJoin(*instruction, number) ||
          kernels_.Needs({number}, *instruction, /*copies_are_inside=*/true))
        continue;
      Join(instruction, number);
      group.more_outputs.push_back(instruction);
      return true;
    }
    return false;
  }

  // Makes one kernel of reductions over the same dimensions that read one array: what one of them
  // has just read, the next finds in a cache.
  void JoinReductions() {
    absl::flat_hash_map<const Instruction*, std::vector<int>> readers;
    for (size_t i = 0; i < kernels_.groups.size(); ++i) {
      const auto number = static_cast<int>(i);
      if (kernels_.groups[i].root->opcode() != Opcode::kReduce ||
          !kernels_.groups[i].root->shape().IsArray() ||
          kernels_.groups[i].root->shape().element_count() == 1)
        continue;
      const std::vector<const Instruction*> arrays = ReducedArrays(number);
      int joined = -1;
      for (const Instruction* array : arrays) {
        if (joined < 0) joined = JoinOne(number, readers[array]);
      }
      for (const Instruction* array : arrays) {
        std::vector<int>& list = readers[array];
        const int reader = joined < 0 ? number : joined;
        if (list.size() < kMaxReaders && !absl::c_linear_search(list, reader))
          list.push_back(reader);
      }
    }
  }

  // Merges the group into the first of `others` that it goes with; which, or -1.
  int JoinOne(int number, const std::vector<int>& others) {
    Instruction* const root = kernels_.groups[static_cast<size_t>(number)].root;
    for (const int other : others) {
      Instruction* const first = kernels_.groups[static_cast<size_t>(other)].root;
      const bool alike =
          SameDimensions(first->operand(0)->shape(), root->operand(0)->shape()) &&
          first->attrs<ReduceAttrs>().dimensions == root->attrs<ReduceAttrs>().dimensions;
      if (!alike || !kernels_.MayMerge({other, number}, *first, /*is_output=*/false)) continue;
      kernels_.Merge(other, number);
      context_.Count("reductions joined");
      return other;
    }
    return -1;
  }

  // What the members of a group of a reduction read in the shape that it reduces.
  std::vector<const Instruction*> ReducedArrays(int number) const {
    const KernelGroup& group = kernels_.groups[static_cast<size_t>(number)];
    const Shape shape = group.root->operand(0)->shape();
    std::vector<const Instruction*> arrays;
    for (const Instruction* member : group.members) {
      for (const Instruction* operand : member->operands()) {
        if (kernels_.group_of.Get(operand) != number && !kernels_.IsCopied(*operand) &&
            operand->shape().IsArray() && SameDimensions(operand->shape(), shape))
          arrays.push_back(operand);
      }
    }
    return arrays;
  }

  bool HasCheapOperand(const Instruction& instruction) const {
    return absl::c_any_of(instruction.operands(), [this](const Instruction* operand) {
      return kernels_.IsCopied(*operand);
    });
  }

  void MakeFusion(const KernelGroup& group) {
    // Groups that have become one held what stands in between.
    std::vector<Instruction*> members = group.members;
    absl::c_sort(members, [this](const Instruction* a, const Instruction* b) {
      return place_.Get(a) < place_.Get(b);
    });
    const bool reduces = group.root->opcode() == Opcode::kReduce || group.has_reduce;
    const std::string name = fmt::format("{}_fusion", group.root->opcode_text());
    if (context_.wants_remarks()) {
      std::string names;
      for (const Instruction* member : members)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", member->name());
      context_.Passed(*group.root, "one kernel of {}", names);
    }
    Instruction* const fusion = Fuse(
        members, {.kind = reduces ? FusionKind::kInput : FusionKind::kLoop,
                  .name = name,
                  .is_copied = [this](const Instruction& value, const Instruction& /*reader*/) {
                    return kernels_.IsCopied(value);
                  }});
    // Members see their users only: that all fits together shows at the end.
    if (!context_.Allowed(*fusion, Takes(target_, *fusion))) Unfuse(fusion);
  }

  Computation& computation_;
  const FusionTarget& target_;
  PassContext& context_;
  KernelGroups kernels_;
  InstructionMap<size_t> place_;  // in the order of the computation
};

// Computations whose instructions become thunks: the entry and what while, conditional and call
// run.
std::vector<Computation*> ThunkComputations(Module& module) {
  std::vector<Computation*> result = {module.entry()};
  for (size_t i = 0; i < result.size(); ++i) {
    for (const Instruction* instruction : result[i]->instructions()) {
      if (HasTrait(instruction->opcode(), kControlFlow) && instruction->opcode() != Opcode::kScan) {
        for (Computation* callee : instruction->calls()) {
          if (!absl::c_linear_search(result, callee)) result.push_back(callee);
        }
      }
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<bool> KernelFusion::Run(Module& module, PassContext& context) {
  return ChangesAny(ThunkComputations(module), [&](Computation& computation) {
    return Fuser(computation, *target_, options_, context).Run();
  });
}

// As HLO_DEFINE_PASS, for one class under a name for each platform.
MadePass MakeKernelFusion(const OptionTexts& options, std::string_view name) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass,
                   internal::MakeWithOptions<KernelFusion>(options, name));
  ASSIGN_OR_RETURN(const FusionTarget* const target,
                   GetFusionTarget(name.substr(0, name.find("-fusion"))));
  static_cast<KernelFusion&>(*pass).set_target(*target);
  return pass;
}
HLO_DEFINE_PASS_FACTS(KernelFusion)

}  // namespace hlo
