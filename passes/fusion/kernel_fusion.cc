#include "passes/fusion/kernel_fusion.h"

#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/alias.h"
#include "lib/ir/dense_map.h"
#include "lib/ir/updated_operands.h"
#include "lib/support/contains.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/rolls.h"
#include "passes/fusion/row_fusion.h"
#include "passes/fusion/row_groups.h"

namespace hlo {
namespace {

constexpr int64_t kSmallBytes = 1 << 15;  // arrays for which access patterns do not matter
constexpr size_t kMaxReaders = 8;
constexpr int64_t kMaxRowOutputs = 4;
constexpr size_t kMostBorders = 6;  // at which the innermost loop is cut
constexpr int kMaxSearch = 512;     // instructions looked at to see whether one group needs another

// Instructions that become one kernel. `root` is the last one.
struct Group {
  Instruction* root;
  std::vector<Instruction*> members;  // users before producers
  int64_t computed = 1;               // members, each as often as there are indices for it
  bool has_reduce = false;
  // All members are elementwise over the shape of the root, or hold values for all of it: any of
  // them may be an output.
  bool is_plain = false;
  std::vector<Instruction*> more_outputs = {};  // besides the root
  int64_t row_size = 0;                         // of what reductions inside reduce
  bool has_rolls = false;                       // besides the root
  std::vector<int64_t> borders = {};            // where rolls cut the innermost loop
};

bool IsPlainMember(const Instruction& instruction, Shape shape) {
  if (instruction.opcode() == Opcode::kBroadcast || instruction.opcode() == Opcode::kConstant ||
      instruction.opcode() == Opcode::kIota)
    return true;
  if (!instruction.shape().IsArray() || !shape.IsArray()) return false;
  if (instruction.opcode() == Opcode::kReduce) return false;
  if (instruction.shape().element_count() == 1) return true;
  return IsFusibleElementwise(instruction) && SameDimensions(instruction.shape(), shape);
}

// Whether operand dimensions are the leading ones of the result, but for those of one element: each
// element serves a contiguous run.
bool BroadcastsRows(const Instruction& broadcast) {
  const Shape shape = broadcast.shape();
  int next = 0;
  for (const int64_t dim : broadcast.attrs<BroadcastAttrs>().dimensions) {
    if (shape.dim(static_cast<int>(dim)) == 1) continue;
    while (next < dim && shape.dim(next) == 1) ++next;
    if (next++ != dim) return false;
  }
  return true;
}

class Fuser {
 public:
  Fuser(Computation& computation, const FusionTarget& target, const KernelFusionOptions& options,
        PassContext& context)
      : computation_(computation),
        target_(target),
        options_(options),
        context_(context),
        group_of_(computation.module().id_limit(), -1),
        place_(computation.module().id_limit(), 0) {}

  bool Run() {
    const std::vector<Instruction*> order = computation_.SequenceOrPostOrder();
    for (size_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    for (size_t i = order.size(); i-- > 0;) Place(order[i]);
    if (target_.one_loop) JoinReductions();
    bool changed = false;
    for (const Group& group : groups_) {
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
    const bool may_copy = !instruction->is_root() && AllUsersFusible(*instruction);
    if (may_copy && IsCheapToRepeat(*instruction)) {
      copied_[instruction] = true;
      return;  // copied into its users' kernels
    }
    const int target = CommonGroup(*instruction);
    if (target >= 0 && MayJoin(*instruction, target)) {
      Join(instruction, target);
      return;
    }
    if (target >= 0) {
      context_.Missed(*instruction,
                      fmt::format("the kernel of `{}`, which reads it, cannot compute it",
                                  groups_[static_cast<size_t>(target)].root->name()));
    }
    if (may_copy && target_.repeats_simple && IsSimpleLoop(*instruction) &&
        MayJoinAll(*instruction)) {
      copied_[instruction] = true;
      return;
    }
    if (target_.row_kernels && JoinAsOutputOfRows(instruction)) return;
    if (target_.max_outputs > 1 && JoinAsOutput(instruction)) return;
    // Names for values that own no memory, and constants, are no kernels of their own.
    if (IsAliasWhenDense(*instruction) || instruction->IsConstant()) return;
    group_of_[instruction] = static_cast<int>(groups_.size());
    groups_.push_back({.root = instruction,
                       .members = {instruction},
                       .has_reduce = instruction->opcode() == Opcode::kReduce});
    groups_.back().is_plain = IsPlainMember(*instruction, instruction->shape());
    indices_[instruction] = {{instruction}, 1};
  }

  void Join(Instruction* instruction, int target) {
    Group& group = groups_[static_cast<size_t>(target)];
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
    group_of_[instruction] = target;
    context_.Count("instructions fused");
  }

  // ---- kernels with several outputs ----

  // Puts an elementwise instruction that several kernels read, or others besides one, into these
  // kernels, which become one: its result is then read from a register where it was from memory.
  // Rolls that nobody else reads, too.
  bool JoinAsOutput(Instruction* instruction) {
    const bool is_roll = IsRoll(*instruction);
    if ((!is_roll && !IsFusibleElementwise(*instruction)) || instruction->is_root() ||
        instruction->shape().element_count() == 1)
      return false;
    std::vector<int> targets;
    bool has_other_users = false;
    for (const Use& use : instruction->uses()) {
      const int group = group_of_.Get(use.user);
      if (group < 0 || !IsPlainFor(*instruction, groups_[static_cast<size_t>(group)]) ||
          !IsFusibleElementwise(*use.user)) {
        has_other_users = true;
      } else if (IsRolledIn(*instruction, group)) {
        return false;
      } else if (std::find(targets.begin(), targets.end(), group) == targets.end()) {
        targets.push_back(group);
      }
    }
    if (targets.empty() || (is_roll && has_other_users) ||
        !MayMerge(targets, *instruction, has_other_users))
      return false;
    std::sort(targets.begin(), targets.end());
    for (size_t i = 1; i < targets.size(); ++i) Merge(targets[0], targets[i]);
    Join(instruction, targets[0]);
    if (has_other_users)
      groups_[static_cast<size_t>(targets[0])].more_outputs.push_back(instruction);
    return true;
  }

  // Puts an instruction into the first kernel of rows that reads it and that others, which read it,
  // too, do not come before: the sum that a normalisation and the next layer take.
  bool JoinAsOutputOfRows(Instruction* instruction) {
    if (instruction->is_root() || !instruction->shape().IsArray() ||
        !(instruction->opcode() == Opcode::kReduce || IsFusibleElementwise(*instruction)))
      return false;
    for (const int number : GroupsThatRead(*instruction)) {
      if (number < 0) continue;
      Group& group = groups_[static_cast<size_t>(number)];
      if (!MayBeOutputOfRows(*instruction, *group.root, group.row_size) ||
          std::ssize(group.more_outputs) + 1 >= kMaxRowOutputs || !MayJoin(*instruction, number) ||
          Needs({number}, *instruction, /*copies_are_inside=*/true))
        continue;
      Join(instruction, number);
      group.more_outputs.push_back(instruction);
      return true;
    }
    return false;
  }

  // To place elements takes more code than to combine them.
  int64_t MostComputed(bool is_plain) const {
    return is_plain ? options_.max_instructions : options_.max_instructions / 2;
  }

  static bool IsPlainFor(const Instruction& instruction, const Group& group) {
    return group.is_plain && SameDimensions(group.root->shape(), instruction.shape());
  }

  // Whether the groups and the instruction are small enough, and none of them needs another by way
  // of anything outside.
  bool MayMerge(const std::vector<int>& targets, const Instruction& instruction,
                bool is_output) const {
    int64_t computed = 1;
    int outputs = is_output ? 1 : 0;
    std::vector<int64_t> borders;
    if (instruction.opcode() == Opcode::kConcatenate)
      borders = InnermostBorders(RollOf(instruction), instruction.shape());
    for (const int target : targets) {
      const Group& group = groups_[static_cast<size_t>(target)];
      computed += group.computed;
      outputs += 1 + static_cast<int>(group.more_outputs.size());
      AddBorders(group.borders, borders);
    }
    const bool is_plain = absl::c_all_of(targets, [&](int target) {
      const Group& group = groups_[static_cast<size_t>(target)];
      return group.is_plain && !group.has_rolls;
    });
    if (computed > MostComputed(is_plain) || outputs > target_.max_outputs ||
        borders.size() > kMostBorders)
      return false;
    return !Needs(targets, instruction);
  }

  // Whether the groups, taken as one with the instruction, would need their own results by way of
  // anything outside. A group outside needs what any of its members does. Groups grow by one
  // instruction at a time, most of which need no look at all: a Reachability (lib/analysis) would
  // merge them for more than these searches cost.
  bool Needs(const std::vector<int>& targets, const Instruction& instruction,
             bool copies_are_inside = false) const {
    const auto is_inside = [&](const Instruction* x) {
      const int group = group_of_.Get(x);
      return x == &instruction || std::find(targets.begin(), targets.end(), group) != targets.end();
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
    const auto follow_group = [&](const Group& group, bool may_stay) {
      follow(group.root, may_stay);
      for (const Instruction* output : group.more_outputs) follow(output, may_stay);
    };
    follow(&instruction, false);
    for (const int target : targets) follow_group(groups_[static_cast<size_t>(target)], false);
    while (!stack.empty()) {
      const Instruction* x = stack.back();
      stack.pop_back();
      if (is_inside(x) || seen.size() > kMaxSearch) return true;
      const int group = group_of_.Get(x);
      if (group < 0) {
        follow(x, true);
      } else {
        follow_group(groups_[static_cast<size_t>(group)], true);
      }
    }
    return false;
  }

  // The second group's members join the first.
  void Merge(int into, int from) {
    Group& group = groups_[static_cast<size_t>(into)];
    Group& other = groups_[static_cast<size_t>(from)];
    group.more_outputs.push_back(other.root);
    group.more_outputs.insert(group.more_outputs.end(), other.more_outputs.begin(),
                              other.more_outputs.end());
    group.members.insert(group.members.end(), other.members.begin(), other.members.end());
    group.computed += other.computed;
    group.has_rolls |= other.has_rolls;
    AddBorders(other.borders, group.borders);
    for (const Instruction* member : other.members) group_of_[member] = into;
    other.members.clear();
    other.more_outputs.clear();
  }

  // Makes one kernel of reductions over the same dimensions that read one array: what one of them
  // has just read, the next finds in a cache.
  void JoinReductions() {
    absl::flat_hash_map<const Instruction*, std::vector<int>> readers;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto number = static_cast<int>(i);
      if (groups_[i].root->opcode() != Opcode::kReduce || !groups_[i].root->shape().IsArray() ||
          groups_[i].root->shape().element_count() == 1)
        continue;
      const std::vector<const Instruction*> arrays = ReducedArrays(number);
      int joined = -1;
      for (const Instruction* array : arrays) {
        if (joined < 0) joined = JoinOne(number, readers[array]);
      }
      for (const Instruction* array : arrays) {
        std::vector<int>& list = readers[array];
        const int reader = joined < 0 ? number : joined;
        if (list.size() < kMaxReaders && std::find(list.begin(), list.end(), reader) == list.end())
          list.push_back(reader);
      }
    }
  }

  // Merges the group into the first of `others` that it goes with; which, or -1.
  int JoinOne(int number, const std::vector<int>& others) {
    Instruction* const root = groups_[static_cast<size_t>(number)].root;
    for (const int other : others) {
      Instruction* const first = groups_[static_cast<size_t>(other)].root;
      const bool alike =
          SameDimensions(first->operand(0)->shape(), root->operand(0)->shape()) &&
          first->attrs<ReduceAttrs>().dimensions == root->attrs<ReduceAttrs>().dimensions;
      if (!alike || !MayMerge({other, number}, *first, /*is_output=*/false)) continue;
      Merge(other, number);
      context_.Count("reductions joined");
      return other;
    }
    return -1;
  }

  // What the members of a group of a reduction read in the shape that it reduces.
  std::vector<const Instruction*> ReducedArrays(int number) const {
    const Group& group = groups_[static_cast<size_t>(number)];
    const Shape shape = group.root->operand(0)->shape();
    std::vector<const Instruction*> arrays;
    for (const Instruction* member : group.members) {
      for (const Instruction* operand : member->operands()) {
        if (group_of_.Get(operand) != number && !IsCopied(*operand) && operand->shape().IsArray() &&
            SameDimensions(operand->shape(), shape))
          arrays.push_back(operand);
      }
    }
    return arrays;
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
    const std::vector<int> groups = GroupsThatRead(instruction);
    return groups.size() == 1 ? groups[0] : -1;
  }

  // The groups of all users, also through copied instructions, in order; -1 for users without.
  std::vector<int> GroupsThatRead(const Instruction& instruction) const {
    constexpr int kMostSteps = 256;
    std::vector<int> groups;
    std::vector<const Instruction*> stack;
    for (const Use& use : instruction.uses()) stack.push_back(use.user);
    for (int steps = 0; !stack.empty(); ++steps) {
      const Instruction* user = stack.back();
      stack.pop_back();
      const int group = steps < kMostSteps ? group_of_.Get(user) : -1;
      if (group < 0 && steps < kMostSteps && IsCopied(*user)) {
        for (const Use& use : user->uses()) stack.push_back(use.user);
      } else if (!Contains(groups, group)) {
        groups.push_back(group);
      }
    }
    std::sort(groups.begin(), groups.end());
    return groups;
  }

  // ---- how often a kernel computes an instruction ----

  // For how many indices a kernel computes an element of an instruction, and who makes them. An
  // elementwise reader asks for the index that it is asked for; any other, such as a slice, makes
  // one of its own for each. In a chain of x + shift(x) they double at each link.
  struct Indices {
    std::vector<const Instruction*> makers;
    int64_t count = 0;

    void Add(const Instruction* maker, int64_t indices) {
      if (Contains(makers, maker)) return;
      makers.push_back(maker);
      count += indices;
    }
  };

  // In the kernel of a group, some of whose members read it.
  Indices IndicesIn(const Instruction& instruction, int number) const {
    const Group& group = groups_[static_cast<size_t>(number)];
    Indices result;
    for (const Use& use : instruction.uses()) {
      const Instruction* const user = use.user;
      if (group_of_.Get(user) == number) {
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
  int64_t CountOf(const Instruction& maker, int number) const {
    return IsCopied(maker) ? IndicesIn(maker, number).count : indices_.at(&maker).count;
  }

  bool IsComputedTooOften(const Instruction& instruction, int number) const {
    const Shape shape = instruction.shape();
    return shape.IsArray() && shape.element_count() != 1 &&
           IndicesIn(instruction, number).count > kMostIndices;
  }

  // Whether it may be computed where members of the group read it.
  bool MayJoin(const Instruction& instruction, int number) const {
    const Group& group = groups_[static_cast<size_t>(number)];
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
    return std::all_of(instruction.uses().begin(), instruction.uses().end(), [&](const Use& use) {
      const bool is_inside = group_of_.Get(use.user) == number || IsCopied(*use.user);
      return !is_inside || UseAllowsFusion(instruction, *use.user, use.operand_index, group);
    });
  }

  // ---- rolls ----

  // The loops of a concatenation are cut where its pieces end, but pieces of one array are read
  // like slices of it. Only the innermost loop is cut then, a few times.
  bool MayJoinAsRoll(const Instruction& concatenate, int number) const {
    const Group& group = groups_[static_cast<size_t>(number)];
    if (!group.is_plain || !IsRoll(concatenate)) return false;
    std::vector<int64_t> borders = group.borders;
    return AddBordersOf(concatenate, number, borders) && borders.size() <= kMostBorders;
  }

  bool IsRoll(const Instruction& concatenate) const {
    if (!target_.rolls || concatenate.opcode() != Opcode::kConcatenate) return false;
    const Roll roll = RollOf(concatenate);
    return roll.array != nullptr && FitsLoops(roll, concatenate.shape());
  }

  // Adds where the innermost loop of the group is cut for `concatenate`, a roll; false if something
  // in it reads the roll neither in the place of its own result nor by a slice or by another roll.
  bool AddBordersOf(const Instruction& concatenate, int number,
                    std::vector<int64_t>& borders) const {
    const Shape loops = groups_[static_cast<size_t>(number)].root->shape();
    const Roll roll = RollOf(concatenate);
    const std::vector<int64_t> ends = InnermostBorders(roll, concatenate.shape());
    const auto in_place = [&](const Instruction& user) {
      return group_of_.Get(&user) == number && IsFusibleElementwise(user) &&
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
      if (!absl::c_all_of(user.uses(), [&](const Use& u) { return may_read(*u.user); }))
        return false;
      const SliceRange& range = user.attrs<SliceAttrs>().slice[static_cast<size_t>(roll.dim)];
      for (const int64_t end : ends) {
        if (end > range.start && end < range.limit) AddBorders({end - range.start}, borders);
      }
    }
    return true;
  }

  static void AddBorders(const std::vector<int64_t>& more, std::vector<int64_t>& borders) {
    for (const int64_t border : more) {
      if (!Contains(borders, border)) borders.push_back(border);
    }
  }

  // Whether a roll inside the group reads it, by slices or as a whole: it is in memory, or it would
  // be computed for each roll again.
  bool IsRolledIn(const Instruction& instruction, int number) const {
    if (!groups_[static_cast<size_t>(number)].has_rolls) return false;
    return absl::c_any_of(instruction.uses(), [&](const Use& use) {
      if (IsRollIn(*use.user, number)) return instruction.opcode() != Opcode::kSlice;
      return use.user->opcode() == Opcode::kSlice &&
             absl::c_any_of(use.user->uses(),
                            [&](const Use& u) { return IsRollIn(*u.user, number); });
    });
  }
  bool IsRollIn(const Instruction& user, int number) const {
    return user.opcode() == Opcode::kConcatenate && group_of_.Get(&user) == number &&
           &user != groups_[static_cast<size_t>(number)].root;
  }

  bool MayJoinAll(const Instruction& instruction) const {
    const std::vector<int> groups = GroupsThatRead(instruction);
    return std::all_of(groups.begin(), groups.end(),
                       [&](int number) { return number >= 0 && MayJoin(instruction, number); });
  }

  // Whether `instruction` reads the array that the root updates: a kernel that does not only write
  // to it cannot update it in place, and the copy may be far larger than what is written.
  static bool ReadsUpdated(const Instruction& instruction, const Instruction& root) {
    for (const Instruction* operand : instruction.operands()) {
      for (int k = 0; k < UpdatedOperandCount(root); ++k) {
        if (NamedValue(operand) == NamedValue(root.operand(k))) return true;
      }
    }
    return false;
  }

  // What `instruction` is another name of.
  static const Instruction* NamedValue(const Instruction* instruction) {
    while (instruction->opcode() == Opcode::kReshape || instruction->opcode() == Opcode::kBitcast ||
           instruction->opcode() == Opcode::kCopy) {
      instruction = instruction->operand(0);
    }
    return instruction;
  }

  // One array is read in place of its result: an upcast, a product with a constant.
  static bool IsSimpleLoop(const Instruction& instruction) {
    if (!IsFusible(instruction) || !IsFusibleElementwise(instruction) || IsExpensive(instruction))
      return false;
    const Instruction* array = nullptr;
    for (const Instruction* operand : instruction.operands()) {
      const bool is_scalar = operand->shape().element_count() == 1 ||
                             (operand->opcode() == Opcode::kBroadcast &&
                              operand->operand(0)->shape().element_count() == 1);
      if (is_scalar || operand == array) continue;
      if (array != nullptr) return false;
      array = operand;
    }
    return array != nullptr && array->shape().byte_size() <= instruction.shape().byte_size();
  }

  // Whether computing `instruction` where `user` reads it repeats no work and keeps loads
  // contiguous.
  bool UseAllowsFusion(const Instruction& instruction, const Instruction& user, int operand_index,
                       const Group& group) const {
    const bool small =
        instruction.shape().IsArray() && instruction.shape().byte_size() <= kSmallBytes / 8;
    // These read elements once, but not where a reduction has just made them.
    constexpr OpcodeSet kNotOfReductions = {
        Opcode::kReduce,  Opcode::kConcatenate,  Opcode::kPad,    Opcode::kSlice,
        Opcode::kReverse, Opcode::kDynamicSlice, Opcode::kGather, Opcode::kDynamicUpdateSlice};
    const Opcode reader = user.opcode();
    const bool reduces = instruction.opcode() == Opcode::kReduce;
    if (reader == Opcode::kBroadcast) {
      if (instruction.shape().element_count() == 1 && !reduces) return true;
      return BroadcastsRows(user) ||
             (!reduces && !IsExpensive(instruction) && (small || target_.repeats_simple));
    }
    if (reader == Opcode::kBitcast || reader == Opcode::kReshape) {
      // What matters is who reads the reshaped value.
      return &user == group.root ||
             std::all_of(user.uses().begin(), user.uses().end(), [&](const Use& use) {
               return UseAllowsFusion(instruction, *use.user, use.operand_index, group);
             });
    }
    if (reader == Opcode::kTranspose) {
      return !MovesMinorDimension(user) || (small && !IsExpensive(instruction)) || user.is_root() ||
             group.root == &user;
    }
    if (kNotOfReductions.Has(reader)) {
      if (reduces) return false;
      // Indices are read once per slice; the operand only where it is gathered.
      if (reader == Opcode::kGather) return operand_index == 1 || !IsExpensive(instruction);
      return reader != Opcode::kDynamicUpdateSlice || operand_index != 0;
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

  void MakeFusion(const Group& group) {
    // Groups that have become one held what stands in between.
    std::vector<Instruction*> members = group.members;
    std::sort(members.begin(), members.end(), [this](const Instruction* a, const Instruction* b) {
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
                    return IsCopied(value);
                  }});
    // Members see their users only: that all fits together shows at the end.
    if (!context_.Allowed(*fusion, Takes(target_, *fusion))) Unfuse(fusion);
  }

  Computation& computation_;
  const FusionTarget& target_;
  const KernelFusionOptions& options_;
  PassContext& context_;
  InstructionMap<int> group_of_;
  InstructionMap<size_t> place_;  // in the order of the computation
  InstructionMap<bool> copied_{0, false};
  absl::flat_hash_map<const Instruction*, Indices> indices_;  // of members; looked up only
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
