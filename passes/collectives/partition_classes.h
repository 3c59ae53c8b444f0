// Which partitions of a module with one replica have the same value.
//
//   r = f32[] all-reduce(x), replica_groups={{0,1},{2,3}}        0 and 1 have the same, 2 and 3, too
//   d = s32[1] dynamic-slice(constant({7,7,8,8}), partition-id)  so they have here
//   m = f32[] multiply(r, convert(d))                            and here
//
// Finer than lib/analysis/replication.h, which knows what is the same on all of them.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/replication.h"

namespace hlo {

class PartitionClasses {
 public:
  // `same_on_all` must outlive it.
  PartitionClasses(const Module& module, const Replication& same_on_all);

  // Whether `x` is the same on the partitions of each group of `collective`.
  bool IsSameInGroups(const Instruction& x, const Instruction& collective);

 private:
  // By partition; those with the same value have the same number.
  using Numbers = std::vector<int64_t>;
  const Numbers& Of(const Instruction& x, int depth);
  Numbers Compute(const Instruction& x, int depth);
  Numbers OfValues(const Instruction& x) const;
  Numbers OfGroups(const Instruction& collective) const;
  Numbers OfOperands(const Instruction& x, int depth);

  const Module& module_;
  const Replication& same_on_all_;
  int64_t partitions_;
  absl::flat_hash_map<const Instruction*, Numbers> known_;  // looked up only
};

}  // namespace hlo
