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
#pragma once

#include <string>
#include <vector>

#include "lib/analysis/values.h"

namespace hlo {

class Replication {
 public:
  enum class Across { kReplicas, kPartitions };

  // `values` must outlive it.
  Replication(const Values& values, Across across);

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

  const Values& values_;
  Across across_;
  std::vector<bool> same_;  // by value
};

}  // namespace hlo
