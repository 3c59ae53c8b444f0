// Which values are the same on all devices.
//
//   p = f32[4] parameter(0), parameter_replication={true}     the same on all replicas
//   r = u32[] replica-id()                                     not; but on all partitions of a replica
//   s = f32[4] all-reduce(x), replica_groups={}                the same on all replicas
//
// Asked for replicas (each partition by itself) or for partitions (each replica by itself). What
// computes from such values without effects computes the same; a loop or a conditional that
// decides by another value gives others. Parameters of the entry are the same where they say so.
// What is not known to be the same is taken for different. O(values * depth of loops).
//
// Also asked for groups of replicas or partitions: the members of each group are to have the same.
//
//   d = s32[1] dynamic-slice(constant({7,7,8,8}), partition-id())     in groups {0,1}, {2,3}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/analysis/values.h"

namespace hlo {

class Replication {
 public:
  enum class Across { kReplicas, kPartitions };

  using Groups = std::vector<std::vector<int64_t>>;

  // `values` must outlive it. `groups` of numbers of replicas or partitions; none: all are one.
  Replication(const Values& values, Across across, Groups groups = {});

  // Whether every leaf of the result is the same on all of them.
  bool Of(const Instruction& instruction) const;

  // The instructions that are not the same, across replicas and across partitions.
  static std::string ToString(const Module& module);

 private:
  bool IsSame(const Instruction& instruction, int64_t leaf) const;
  bool IsSame(const Value& value) const;
  bool AreSame(const Instruction& operand) const;
  bool BodyIsSame(const Computation& body) const;
  bool CollectiveIsSame(const Instruction& collective) const;
  bool IsTableOfGroups(const Instruction& slice) const;
  std::optional<int64_t> GroupOf(int64_t id) const;

  const Values& values_;
  Across across_;
  Groups groups_;
  std::vector<bool> same_;  // by value
};

}  // namespace hlo
