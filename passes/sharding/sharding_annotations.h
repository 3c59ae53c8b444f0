// What programs say about shardings besides the shardings themselves: custom calls "Sharding" that
// annotate a value, groups of values to be sharded alike, dimensions that are left open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "passes/sharding/instruction_sharding.h"

namespace hlo {

inline constexpr std::string_view kShardingCall = "Sharding";
// Values between which a border runs: what is after "from" does not follow what is before it, nor
// do other members of its group follow it; what is before "to" does not follow what is after it,
// nor does it follow its group.
inline constexpr std::string_view kBarrierFrom = "ShardBarrierFrom";
inline constexpr std::string_view kBarrierTo = "ShardBarrierTo";

class ShardingAnnotations {
 public:
  // Sorted; null where the sharding is complete.
  const DimVec* OpenDims(const Instruction& instruction) const;
  // Values that should be (shard_like) or are to be (shard_as) sharded like this one; null: none.
  const std::vector<Instruction*>* GroupOf(const Instruction& instruction) const;
  bool IsInAsGroup(const Instruction& instruction) const;
  // By id.
  const std::map<int64_t, std::vector<Instruction*>>& as_groups() const { return as_; }

  // Reads them all. With `replace`, each annotation of a known sharding becomes a copy that has it,
  // one that only names a group goes, and its operand is the member.
  absl::StatusOr<bool> Take(Module& module, bool replace);

 private:
  absl::StatusOr<bool> TakeAnnotation(Instruction* annotation, bool replace);
  absl::Status Join(Instruction& instruction);

  absl::flat_hash_map<const Instruction*, DimVec> open_dims_;
  absl::flat_hash_map<const Instruction*, int64_t> group_id_;
  std::map<int64_t, std::vector<Instruction*>> as_, like_;
};

// Of a custom call: the list `unspecified_dims=[…]` of its backend config, sorted.
absl::StatusOr<DimVec> UnspecifiedDims(const Instruction& call);
// As a backend config has it; nothing if no dimensions are open.
std::string UnspecifiedDimsText(const DimVec& dims);

// A note in the metadata of a sharding: it says only which manual region a value is in, and
// sharding-propagation may divide the value further. Other instructions than annotations have no
// place to leave dimensions open.
void MarkOpen(Sharding& sharding);
// Takes the note away; whether there was one.
bool TakeOpenMark(Sharding& sharding);

}  // namespace hlo
