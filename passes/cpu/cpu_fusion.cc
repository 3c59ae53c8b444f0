#include "passes/cpu/cpu_fusion.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"
#include "lib/ir/dense_map.h"
#include "passes/cpu/fusible.h"

namespace hlo {
namespace {

constexpr int64_t kMaxRow = 1 << 16;      // elements of a row that stays in cache
constexpr int64_t kSmallBytes = 1 << 15;  // arrays for which access patterns do not matter
constexpr int kMaxOperands = 48;

// Instructions that become one kernel. `root` is the last one.
struct Group {
  Instruction* root;
  std::vector<Instruction*> members;  // in the order they joined: users before producers
  bool has_reduce = false;
};

// Whether `reduce` takes whole trailing dimensions: rows of its operand.
bool ReducesRows(const Instruction& reduce) {
  const auto& dims = reduce.attrs<ReduceAttrs>().dimensions;
  const Shape operand = reduce.operand(0)->shape();
  const int64_t first = operand.rank() - static_cast<int64_t>(dims.size());
  for (const int64_t d : dims) {
    if (d < first) return false;
  }
  return true;
}

int64_t RowSize(const Instruction& reduce) {
  int64_t size = 1;
  for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions)
    size *= reduce.operand(0)->shape().dim(static_cast<int>(d));
  return size;
}

// Whether operand dimensions are the leading ones of the result: each element serves a contiguous
// run.
bool BroadcastsRows(const Instruction& broadcast) {
  const DimVec& dims = broadcast.attrs<BroadcastAttrs>().dimensions;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Whether the most minor dimension larger than 1 goes elsewhere.
bool MovesMinorDimension(const Instruction& transpose) {
  const DimVec& permutation = transpose.attrs<TransposeAttrs>().dimensions;
  const Shape operand = transpose.operand(0)->shape();
  int in = operand.rank() - 1;
  while (in >= 0 && operand.dim(in) == 1) --in;
  int out = transpose.shape().rank() - 1;
  while (out >= 0 && transpose.shape().dim(out) == 1) --out;
  return in >= 0 && permutation[static_cast<size_t>(out)] != in;
}

class Fuser {
 public:
  Fuser(Computation& computation, const CpuFusionOptions& options, PassContext& context)
      : computation_(computation),
        options_(options),
        context_(context),
        group_of_(computation.module().id_limit(), -1) {}

  absl::StatusOr<bool> Run() {
    const std::vector<Instruction*> order = computation_.SequenceOrPostOrder();
    for (size_t i = order.size(); i-- > 0;) Place(order[i]);
    bool changed = false;
    for (Group& group : groups_) {
      if (group.members.size() > 1 || HasCheapOperand(*group.root)) {
        RETURN_IF_ERROR(MakeFusion(group));
        changed = true;
      }
    }
    return changed;
  }

 private:
  // Puts `instruction` into the group of its users, or starts one.
  void Place(Instruction* instruction) {
    if (!cpu::IsFusible(*instruction) || instruction->HasSideEffect() ||
        instruction->has_control_edges())
      return;
    if (cpu::IsCheapToRepeat(*instruction) && !instruction->is_root() &&
        AllUsersFusible(*instruction)) {
      copied_[instruction] = true;
      return;  // copied into its users' kernels by MakeFusion
    }
    const int target = CommonGroup(*instruction);
    if (target >= 0 && MayJoin(*instruction, groups_[static_cast<size_t>(target)])) {
      Group& group = groups_[static_cast<size_t>(target)];
      group.members.push_back(instruction);
      group.has_reduce |= instruction->opcode() == Opcode::kReduce;
      group_of_[instruction] = target;
      context_.Count("instructions fused");
      return;
    }
    // Names for values that own no memory, and constants, are no kernels of their own.
    if (instruction->opcode() == Opcode::kReshape || instruction->opcode() == Opcode::kCopy ||
        instruction->opcode() == Opcode::kConstant || instruction->opcode() == Opcode::kBitcast) {
      return;
    }
    group_of_[instruction] = static_cast<int>(groups_.size());
    groups_.push_back({instruction, {instruction}, instruction->opcode() == Opcode::kReduce});
  }

  bool AllUsersFusible(const Instruction& instruction) const {
    for (const Use& use : instruction.uses()) {
      if (group_of_.Get(use.user) < 0 && !IsCopied(*use.user)) return false;
    }
    return instruction.has_uses();
  }
  // Computed again in each kernel that reads it.
  bool IsCopied(const Instruction& instruction) const { return copied_.Get(&instruction); }

  // The group that holds all users, also through copied instructions; -1 when there is none.
  int CommonGroup(const Instruction& instruction) const {
    if (!instruction.has_uses() || instruction.is_root()) return -1;
    int common = -1;
    std::vector<const Instruction*> stack;
    for (const Use& use : instruction.uses()) stack.push_back(use.user);
    int steps = 0;
    while (!stack.empty()) {
      const Instruction* user = stack.back();
      stack.pop_back();
      if (++steps > 256) return -1;
      const int group = group_of_.Get(user);
      if (group < 0) {
        if (!IsCopied(*user)) return -1;
        for (const Use& use : user->uses()) stack.push_back(use.user);
        continue;
      }
      if (common >= 0 && group != common) return -1;
      common = group;
    }
    return common;
  }

  bool MayJoin(const Instruction& instruction, const Group& group) const {
    if (static_cast<int64_t>(group.members.size()) >= options_.max_instructions) return false;
    if (group.root->operand_count() > kMaxOperands) return false;
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kDynamicUpdateSlice) return false;  // updates in place, as a root
    if (opcode == Opcode::kReduce && !options_.fuse_rows) return false;
    if (opcode == Opcode::kReduce && !ReduceMayJoin(instruction, group)) return false;
    if (opcode == Opcode::kConcatenate) return false;  // its segments are loops of their own
    for (const Use& use : instruction.uses()) {
      if (!UseAllowsFusion(instruction, *use.user, use.operand_index, group)) return false;
    }
    return true;
  }

  // A reduction inside a kernel: of whole rows, each computed once for its row of the root.
  static bool ReduceMayJoin(const Instruction& reduce, const Group& group) {
    if (!reduce.shape().IsArray() || !ReducesRows(reduce) || RowSize(reduce) > kMaxRow)
      return false;
    const Shape input = reduce.operand(0)->shape();
    const Instruction& root = *group.root;
    if (root.opcode() == Opcode::kReduce) return false;
    if (!root.shape().IsArray() || root.shape().element_count() != input.element_count())
      return false;
    // The root's rows are the reduced rows.
    const int rows = input.rank() - static_cast<int>(reduce.attrs<ReduceAttrs>().dimensions.size());
    if (rows == 0) return input.byte_size() <= kSmallBytes;
    int64_t row_count = 1;
    for (int i = 0; i < rows; ++i) {
      if (i >= root.shape().rank() || root.shape().dim(i) != input.dim(i)) return false;
      row_count *= input.dim(i);
    }
    if (row_count < 4 && input.byte_size() > kSmallBytes) return false;
    for (const Instruction* member : group.members) {
      if (member->opcode() == Opcode::kTranspose || member->opcode() == Opcode::kReverse ||
          member->opcode() == Opcode::kConcatenate || member->opcode() == Opcode::kPad ||
          member->opcode() == Opcode::kGather) {
        return false;
      }
    }
    return true;
  }

  // Whether computing `instruction` where `user` reads it repeats no work and keeps loads
  // contiguous.
  bool UseAllowsFusion(const Instruction& instruction, const Instruction& user, int operand_index,
                       const Group& group) const {
    const bool small =
        instruction.shape().IsArray() && instruction.shape().byte_size() <= kSmallBytes / 8;
    switch (user.opcode()) {
      case Opcode::kBroadcast:
        if (instruction.shape().element_count() == 1 && instruction.opcode() != Opcode::kReduce)
          return true;
        if (BroadcastsRows(user)) return true;
        return instruction.opcode() != Opcode::kReduce && !cpu::IsExpensive(instruction) && small;
      case Opcode::kBitcast:
      case Opcode::kReshape:
        // What matters is who reads the reshaped value.
        return &user == group.root ||
               std::all_of(user.uses().begin(), user.uses().end(), [&](const Use& use) {
                 return UseAllowsFusion(instruction, *use.user, use.operand_index, group);
               });
      case Opcode::kTranspose:
        return !MovesMinorDimension(user) || (small && !cpu::IsExpensive(instruction)) ||
               user.is_root() || group.root == &user;
      case Opcode::kGather:
        // Indices are read once per slice; the operand only where it is gathered.
        return instruction.opcode() != Opcode::kReduce &&
               (operand_index == 1 || !cpu::IsExpensive(instruction));
      case Opcode::kDynamicUpdateSlice:
        return operand_index != 0 && instruction.opcode() != Opcode::kReduce;
      case Opcode::kReduce:
        // Init values are scalars; inputs are read once.
        return instruction.opcode() != Opcode::kReduce;
      case Opcode::kConcatenate:
      case Opcode::kPad:
      case Opcode::kDynamicSlice:
      case Opcode::kSlice:
      case Opcode::kReverse: return instruction.opcode() != Opcode::kReduce;
      default: break;
    }
    if (instruction.opcode() == Opcode::kTranspose && MovesMinorDimension(instruction)) {
      return instruction.shape().byte_size() <= kSmallBytes;
    }
    return true;
  }

  bool HasCheapOperand(const Instruction& instruction) const {
    return std::any_of(instruction.operands().begin(), instruction.operands().end(),
                       [this](const Instruction* operand) { return IsCopied(*operand); });
  }

  absl::Status MakeFusion(Group& group) {
    Module& module = computation_.module();
    Computation* fused = module.AddComputation("fused_computation");
    fused->set_execution_thread(computation_.execution_thread());
    std::vector<Instruction*> operands;
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    // Members in reverse order of joining: producers first; copied instructions on demand.
    const int number = group_of_[group.root];
    const auto import = [&](auto&& self, Instruction* from) -> Instruction* {
      if (const auto it = copies.find(from); it != copies.end()) return it->second;
      const bool inside = group_of_.Get(from) == number || IsCopied(*from);
      if (!inside) {
        const auto index = static_cast<int64_t>(operands.size());
        operands.push_back(from);
        Instruction* parameter =
            fused->AddParameter(index, from->shape(), fmt::format("param_{}", index));
        copies[from] = parameter;
        return parameter;
      }
      std::vector<Instruction*> mine;
      for (Instruction* operand : from->operands()) mine.push_back(self(self, operand));
      Instruction* copy = fused->AddClone(*from, from->shape(), mine);
      copies[from] = copy;
      return copy;
    };
    // Producers before users: recursion stays shallow.
    for (size_t i = group.members.size(); i-- > 0;) import(import, group.members[i]);
    fused->set_root(copies[group.root]);
    const bool reduces = group.root->opcode() == Opcode::kReduce || group.has_reduce;
    Instruction* fusion = computation_.Add(
        Opcode::kFusion, group.root->shape(), operands,
        AttrsPtr::Make(FusionAttrs{reduces ? FusionKind::kInput : FusionKind::kLoop, {}}), {fused},
        fmt::format("{}_fusion", group.root->opcode_text()));
    fusion->CopyExtrasFrom(*group.root);
    computation_.Replace(group.root, fusion);
    for (const Instruction* member : group.members) {
      if (member != group.root && !member->is_dead() && !member->has_uses()) {
        computation_.RemoveUnused(const_cast<Instruction*>(member));
      }
    }
    return absl::OkStatus();
  }

  Computation& computation_;
  const CpuFusionOptions& options_;
  PassContext& context_;
  InstructionMap<int> group_of_;
  InstructionMap<bool> copied_{0, false};
  std::vector<Group> groups_;
};

// Computations whose instructions become thunks: the entry and what while, conditional and call
// run.
std::vector<Computation*> ThunkComputations(Module& module) {
  std::vector<Computation*> result = {module.entry()};
  for (size_t i = 0; i < result.size(); ++i) {
    for (const Instruction* instruction : result[i]->instructions()) {
      if (HasTrait(instruction->opcode(), kControlFlow) && instruction->opcode() != Opcode::kScan) {
        for (Computation* callee : instruction->calls()) {
          if (std::find(result.begin(), result.end(), callee) == result.end())
            result.push_back(callee);
        }
      }
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<bool> CpuFusion::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : ThunkComputations(module)) {
    ASSIGN_OR_RETURN(const bool one, Fuser(*computation, options_, context).Run());
    changed |= one;
  }
  return changed;
}

HLO_DEFINE_PASS(CpuFusion)

}  // namespace hlo
