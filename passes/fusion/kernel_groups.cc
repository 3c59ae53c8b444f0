#include "passes/fusion/kernel_groups.h"

#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/updated_operands.h"
#include "lib/support/contains.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/kernel_uses.h"
#include "passes/fusion/rolls.h"
#include "passes/fusion/row_fusion.h"
#include "passes/fusion/row_groups.h"

namespace hlo {
namespace {

constexpr size_t kMostBorders = 6;  // at which the innermost loop is cut
constexpr int kMaxSearch = 512;     // instructions looked at to see whether one group needs another

bool IsPlainMember(const Instruction& instruction, Shape shape) {
  if (instruction.opcode() == Opcode::kBroadcast || instruction.opcode() == Opcode::kConstant ||
      instruction.opcode() == Opcode::kIota)
    return true;
  if (!instruction.shape().IsArray() || !shape.IsArray()) return false;
  if (instruction.opcode() == Opcode::kReduce) return false;
  if (instruction.shape().element_count() == 1) return true;
  return IsFusibleElementwise(instruction) && SameDimensions(instruction.shape(), shape);
}

// What `instruction` is another name of.
const Instruction* NamedValue(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kReshape || instruction->opcode() == Opcode::kBitcast ||
         instruction->opcode() == Opcode::kCopy) {
    instruction = instruction->operand(0);
  }
  return instruction;
}

// Whether `instruction` reads the array that the root updates: a kernel that does not only write
// to it cannot update it in place, and the copy may be far larger than what is written.
bool ReadsUpdated(const Instruction& instruction, const Instruction& root) {
  for (const Instruction* operand : instruction.operands()) {
    for (int k = 0; k < UpdatedOperandCount(root); ++k) {
      if (NamedValue(operand) == NamedValue(root.operand(k))) return true;
    }
  }
  return false;
}

void AddBorders(const std::vector<int64_t>& more, std::vector<int64_t>& borders) {
  for (const int64_t border : more) {
    if (!Contains(borders, border)) borders.push_back(border);
  }
}

}  // namespace

bool KernelGroups::AllUsersFusible(const Instruction& instruction) const {
  for (const Use& use : instruction.uses()) {
    if (group_of.Get(use.user) < 0 && !IsCopied(*use.user)) return false;
  }
  return instruction.has_uses();
}

bool KernelGroups::IsCopied(const Instruction& instruction) const {
  return copied.Get(&instruction);
}

int KernelGroups::CommonGroup(const Instruction& instruction) const {
  if (!instruction.has_uses() || instruction.is_root()) return -1;
  const std::vector<int> numbers = GroupsThatRead(instruction);
  return numbers.size() == 1 ? numbers[0] : -1;
}

std::vector<int> KernelGroups::GroupsThatRead(const Instruction& instruction) const {
  constexpr int kMostSteps = 256;
  std::vector<int> numbers;
  std::vector<const Instruction*> stack;
  for (const Use& use : instruction.uses()) stack.push_back(use.user);
  for (int steps = 0; !stack.empty(); ++steps) {
    const Instruction* user = stack.back();
    stack.pop_back();
    const int group = steps < kMostSteps ? group_of.Get(user) : -1;
    if (group < 0 && steps < kMostSteps && IsCopied(*user)) {
      for (const Use& use : user->uses()) stack.push_back(use.user);
    } else if (!Contains(numbers, group)) {
      numbers.push_back(group);
    }
  }
  absl::c_sort(numbers);
  return numbers;
}

// ---- joining ----

void KernelGroups::Add(Instruction* root) {
  group_of[root] = static_cast<int>(groups.size());
  groups.push_back({.root = root,
                    .members = {root},
                    .has_reduce = root->opcode() == Opcode::kReduce,
                    .is_plain = IsPlainMember(*root, root->shape())});
  indices_[root] = {{root}, 1};
}

void KernelGroups::Join(Instruction* instruction, int target) {
  KernelGroup& group = groups[static_cast<size_t>(target)];
  Indices& indices = indices_[instruction] = IndicesIn(*instruction, target);
  group.computed += std::max<int64_t>(indices.count, 1);
  group.members.push_back(instruction);
  if (instruction->opcode() == Opcode::kReduce) {
    group.has_reduce = true;
    group.row_size = RowSize(*instruction);
  }
  if (instruction->opcode() == Opcode::kConcatenate && !IsIndexVector(*instruction)) {
    group.has_rolls = true;
    AddBordersOf(*instruction, target, group.borders);
  } else {
    group.is_plain &= IsPlainMember(*instruction, group.root->shape());
  }
  group_of[instruction] = target;
}

void KernelGroups::Merge(int into, int from) {
  KernelGroup& group = groups[static_cast<size_t>(into)];
  KernelGroup& other = groups[static_cast<size_t>(from)];
  group.more_outputs.push_back(other.root);
  group.more_outputs.insert(group.more_outputs.end(), other.more_outputs.begin(),
                            other.more_outputs.end());
  group.members.insert(group.members.end(), other.members.begin(), other.members.end());
  group.computed += other.computed;
  group.has_rolls |= other.has_rolls;
  AddBorders(other.borders, group.borders);
  for (const Instruction* member : other.members) group_of[member] = into;
  other.members.clear();
  other.more_outputs.clear();
}

bool KernelGroups::IsPlainFor(const Instruction& instruction, const KernelGroup& group) {
  return group.is_plain && SameDimensions(group.root->shape(), instruction.shape());
}

int64_t KernelGroups::MostComputed(bool is_plain) const {
  return is_plain ? options_.max_instructions : options_.max_instructions / 2;
}

bool KernelGroups::MayJoin(const Instruction& instruction, int number) const {
  const KernelGroup& group = groups[static_cast<size_t>(number)];
  if (group.computed >= MostComputed(IsPlainFor(instruction, group) && !group.has_rolls))
    return false;
  if (group.root->operand_count() > target_.max_operands) return false;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kDynamicUpdateSlice) return false;  // updates in place, as a root
  if (opcode == Opcode::kReduce &&
      !(target_.row_kernels ? ReduceMayJoinRows(instruction, *group.root, group.row_size)
                            : target_.keeps_rows && ReduceMayJoinLoops(instruction, *group.root)))
    return false;
  if (opcode == Opcode::kReduce && MovesElements(group.members)) return false;
  if (opcode == Opcode::kConcatenate && !IsIndexVector(instruction) &&
      !MayJoinAsRoll(instruction, number))
    return false;
  if (opcode != Opcode::kConcatenate && IsRolledIn(instruction, number)) return false;
  if (ReadsUpdated(instruction, *group.root)) return false;
  if (IsComputedTooOften(instruction, number)) return false;
  return absl::c_all_of(instruction.uses(), [&](const Use& use) {
    const bool is_inside = group_of.Get(use.user) == number || IsCopied(*use.user);
    return !is_inside || UseAllowsFusion(instruction, *use.user, use.operand_index, *group.root,
                                         target_.repeats_simple);
  });
}

bool KernelGroups::MayJoinAll(const Instruction& instruction) const {
  const std::vector<int> numbers = GroupsThatRead(instruction);
  return absl::c_all_of(numbers,
                        [&](int number) { return number >= 0 && MayJoin(instruction, number); });
}

bool KernelGroups::MayMerge(const std::vector<int>& targets, const Instruction& instruction,
                            bool is_output) const {
  int64_t computed = 1;
  int outputs = is_output ? 1 : 0;
  std::vector<int64_t> borders;
  if (instruction.opcode() == Opcode::kConcatenate)
    borders = InnermostBorders(RollOf(instruction), instruction.shape());
  for (const int target : targets) {
    const KernelGroup& group = groups[static_cast<size_t>(target)];
    computed += group.computed;
    outputs += 1 + static_cast<int>(group.more_outputs.size());
    AddBorders(group.borders, borders);
  }
  const bool is_plain = absl::c_all_of(targets, [&](int target) {
    const KernelGroup& group = groups[static_cast<size_t>(target)];
    return group.is_plain && !group.has_rolls;
  });
  if (computed > MostComputed(is_plain) || outputs > target_.max_outputs ||
      borders.size() > kMostBorders)
    return false;
  return !Needs(targets, instruction);
}

bool KernelGroups::Needs(const std::vector<int>& targets, const Instruction& instruction,
                         bool copies_are_inside) const {
  const auto is_inside = [&](const Instruction* x) {
    const int group = group_of.Get(x);
    return x == &instruction || absl::c_linear_search(targets, group);
  };
  std::vector<const Instruction*> stack;
  absl::flat_hash_set<const Instruction*> seen;
  const std::function<void(const Instruction*, bool)> follow = [&](const Instruction* x,
                                                                   bool may_stay) {
    for (const Use& use : x->uses()) {
      if (!may_stay && copies_are_inside && IsCopied(*use.user)) {
        follow(use.user, false);
      } else if ((may_stay || !is_inside(use.user)) && seen.insert(use.user).second)
        stack.push_back(use.user);
    }
    for (const Instruction* after : x->control_successors()) {
      if (seen.insert(after).second) stack.push_back(after);
    }
  };
  const auto follow_group = [&](const KernelGroup& group, bool may_stay) {
    follow(group.root, may_stay);
    for (const Instruction* output : group.more_outputs) follow(output, may_stay);
  };
  follow(&instruction, false);
  for (const int target : targets) follow_group(groups[static_cast<size_t>(target)], false);
  while (!stack.empty()) {
    const Instruction* x = stack.back();
    stack.pop_back();
    if (is_inside(x) || seen.size() > kMaxSearch) return true;
    const int group = group_of.Get(x);
    if (group < 0) {
      follow(x, true);
    } else {
      follow_group(groups[static_cast<size_t>(group)], true);
    }
  }
  return false;
}

// ---- how often a kernel computes an instruction ----

KernelGroups::Indices KernelGroups::IndicesIn(const Instruction& instruction, int number) const {
  const KernelGroup& group = groups[static_cast<size_t>(number)];
  Indices result;
  for (const Use& use : instruction.uses()) {
    const Instruction* const user = use.user;
    if (group_of.Get(user) == number) {
      const Indices& own = indices_.at(user);
      if (!IsFusibleElementwise(*user) || !SameDimensions(user->shape(), instruction.shape())) {
        result.Add(user, own.count);
      } else if (group.is_plain) {  // kernels that became one with it have its index, too
        result.Add(group.root, 1);
      } else {
        for (const Instruction* maker : own.makers) result.Add(maker, CountOf(*maker, number));
      }
    } else if (IsCopied(*user)) {
      const int64_t count = IndicesIn(*user, number).count;  // 0: others read the copy
      if (count > 0) result.Add(user, count);
    }
  }
  return result;
}

int64_t KernelGroups::CountOf(const Instruction& maker, int number) const {
  return IsCopied(maker) ? IndicesIn(maker, number).count : indices_.at(&maker).count;
}

bool KernelGroups::IsComputedTooOften(const Instruction& instruction, int number) const {
  const Shape shape = instruction.shape();
  return shape.IsArray() && shape.element_count() != 1 &&
         IndicesIn(instruction, number).count > kMostIndices;
}

// ---- rolls ----

bool KernelGroups::MayJoinAsRoll(const Instruction& concatenate, int number) const {
  const KernelGroup& group = groups[static_cast<size_t>(number)];
  if (!group.is_plain || !IsRoll(concatenate)) return false;
  std::vector<int64_t> borders = group.borders;
  return AddBordersOf(concatenate, number, borders) && borders.size() <= kMostBorders;
}

bool KernelGroups::IsRoll(const Instruction& concatenate) const {
  if (!target_.rolls || concatenate.opcode() != Opcode::kConcatenate) return false;
  const Roll roll = RollOf(concatenate);
  return roll.array != nullptr && FitsLoops(roll, concatenate.shape());
}

bool KernelGroups::AddBordersOf(const Instruction& concatenate, int number,
                                std::vector<int64_t>& borders) const {
  const Shape loops = groups[static_cast<size_t>(number)].root->shape();
  const Roll roll = RollOf(concatenate);
  const std::vector<int64_t> ends = InnermostBorders(roll, concatenate.shape());
  const auto in_place = [&](const Instruction& user) {
    return group_of.Get(&user) == number && IsFusibleElementwise(user) &&
           SameDimensions(user.shape(), loops);
  };
  const auto may_read = [&](const Instruction& user) {
    return in_place(user) || (ends.empty() && IsRollIn(user, number));
  };
  for (const Use& use : concatenate.uses()) {
    const Instruction& user = *use.user;
    if (may_read(user)) {
      AddBorders(ends, borders);
      continue;
    }
    if (user.opcode() != Opcode::kSlice || !IsCopied(user)) return false;
    for (const SliceRange& range : user.attrs<SliceAttrs>().slice) {
      if (range.stride != 1) return false;
    }
    if (!absl::c_all_of(user.uses(), [&](const Use& u) { return may_read(*u.user); })) return false;
    const SliceRange& range = user.attrs<SliceAttrs>().slice[static_cast<size_t>(roll.dim)];
    for (const int64_t end : ends) {
      if (end > range.start && end < range.limit) AddBorders({end - range.start}, borders);
    }
  }
  return true;
}

bool KernelGroups::IsRolledIn(const Instruction& instruction, int number) const {
  if (!groups[static_cast<size_t>(number)].has_rolls) return false;
  return absl::c_any_of(instruction.uses(), [&](const Use& use) {
    if (IsRollIn(*use.user, number)) return instruction.opcode() != Opcode::kSlice;
    return use.user->opcode() == Opcode::kSlice &&
           absl::c_any_of(use.user->uses(),
                          [&](const Use& u) { return IsRollIn(*u.user, number); });
  });
}

bool KernelGroups::IsRollIn(const Instruction& user, int number) const {
  return user.opcode() == Opcode::kConcatenate && group_of.Get(&user) == number &&
         &user != groups[static_cast<size_t>(number)].root;
}

}  // namespace hlo
