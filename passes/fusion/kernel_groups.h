// Kernels in the making: groups of instructions that become one fusion each, and what may join.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lib/ir/dense_map.h"
#include "lib/support/contains.h"
#include "passes/fusion/kernel_fusion.h"

namespace hlo {

// Instructions that become one kernel. `root` is the last one.
struct KernelGroup {
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

class KernelGroups {
 public:
  KernelGroups(const FusionTarget& target, const KernelFusionOptions& options, uint32_t id_limit)
      : group_of(id_limit, -1), target_(target), options_(options) {}

  // ---- who is in them ----

  bool AllUsersFusible(const Instruction& instruction) const;
  // Computed again in each kernel that reads it.
  bool IsCopied(const Instruction& instruction) const;
  // The group that holds all users, also through copied instructions; -1 when there is none.
  int CommonGroup(const Instruction& instruction) const;
  // The groups of all users, also through copied instructions, in order; -1 for users without.
  std::vector<int> GroupsThatRead(const Instruction& instruction) const;
  static bool IsPlainFor(const Instruction& instruction, const KernelGroup& group);

  // ---- who may join ----

  // Whether it may be computed where members of the group read it.
  bool MayJoin(const Instruction& instruction, int number) const;
  bool MayJoinAll(const Instruction& instruction) const;
  // Whether the groups and the instruction are small enough, and none of them needs another by way
  // of anything outside.
  bool MayMerge(const std::vector<int>& targets, const Instruction& instruction,
                bool is_output) const;
  // Whether the groups, taken as one with the instruction, would need their own results by way of
  // anything outside. A group outside needs what any of its members does. Groups grow by one
  // instruction at a time, most of which need no look at all: a Reachability (lib/analysis) would
  // merge them for more than these searches cost.
  bool Needs(const std::vector<int>& targets, const Instruction& instruction,
             bool copies_are_inside = false) const;
  bool IsRoll(const Instruction& concatenate) const;
  // Whether a roll inside the group reads it, by slices or as a whole: it is in memory, or it would
  // be computed for each roll again.
  bool IsRolledIn(const Instruction& instruction, int number) const;

  // Starts a group.
  void Add(Instruction* root);
  void Join(Instruction* instruction, int target);
  // The second group's members join the first.
  void Merge(int into, int from);

  std::vector<KernelGroup> groups;
  InstructionMap<int> group_of;
  InstructionMap<bool> copied{0, false};

 private:
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
  Indices IndicesIn(const Instruction& instruction, int number) const;
  int64_t CountOf(const Instruction& maker, int number) const;
  bool IsComputedTooOften(const Instruction& instruction, int number) const;
  // To place elements takes more code than to combine them.
  int64_t MostComputed(bool is_plain) const;
  // The loops of a concatenation are cut where its pieces end, but pieces of one array are read
  // like slices of it. Only the innermost loop is cut then, a few times.
  bool MayJoinAsRoll(const Instruction& concatenate, int number) const;
  // Adds where the innermost loop of the group is cut for `concatenate`, a roll; false if something
  // in it reads the roll neither in the place of its own result nor by a slice or by another roll.
  bool AddBordersOf(const Instruction& concatenate, int number,
                    std::vector<int64_t>& borders) const;
  bool IsRollIn(const Instruction& user, int number) const;

  const FusionTarget& target_;
  const KernelFusionOptions& options_;
  absl::flat_hash_map<const Instruction*, Indices> indices_;  // of members; looked up only
};

}  // namespace hlo
