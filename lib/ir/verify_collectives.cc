// Rules of collectives that the shape rules leave open, because they depend on how many devices the
// module runs on:
//
//   replica_groups       form is sound, no group is empty, ids are 0 … n-1 once each; n is the
//                        number of replicas, of partitions or of both, whatever the ids count,
//                        unless the module has just one; groups are of equal size but for
//                        all-reduce. collective-broadcast may leave devices out
//   use_global_device_ids needs a channel, and groups
//   channel_id           of all-reduce is positive
//   shares               of all-gather and reduce-scatter are as many as devices in a group; so are
//                        operands of an all-to-all of tuples
//   source_target_pairs  are in range, with each device at most once a source and once a target,
//                        times the number of slices
#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/verify_internal.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/round.h"
#include "lib/support/strings.h"

namespace hlo::internal {
namespace {

// What the attribute structs of collectives with groups have in common.
struct GroupAttrs {
  const ReplicaGroups& groups;
  std::optional<int64_t> channel_id;
  std::optional<bool> use_global_device_ids;  // empty: the opcode has no such attribute
};

template <class A>
GroupAttrs ToGroupAttrs(const A& attrs) {
  GroupAttrs result{attrs.replica_groups, attrs.channel_id, std::nullopt};
  if constexpr (requires { attrs.use_global_device_ids; })
    result.use_global_device_ids = attrs.use_global_device_ids;
  return result;
}

GroupAttrs GroupAttrsOf(const Instruction& instruction) {
  const AttrsPtr& attrs = instruction.attrs_ptr();
  if (attrs.Is<AllReduceAttrs>()) return ToGroupAttrs(attrs.Get<AllReduceAttrs>());
  if (attrs.Is<AllGatherAttrs>()) return ToGroupAttrs(attrs.Get<AllGatherAttrs>());
  if (attrs.Is<ReduceScatterAttrs>()) return ToGroupAttrs(attrs.Get<ReduceScatterAttrs>());
  if (attrs.Is<AllToAllAttrs>()) return ToGroupAttrs(attrs.Get<AllToAllAttrs>());
  if (attrs.Is<RaggedAllToAllAttrs>()) return ToGroupAttrs(attrs.Get<RaggedAllToAllAttrs>());
  return ToGroupAttrs(attrs.Get<CollectiveBroadcastAttrs>());
}

// How many devices the ids count, and as what.
struct DeviceRange {
  int64_t count;
  std::string_view what;
};

DeviceRange RangeOf(const GroupAttrs& attrs, const ModuleConfig& config) {
  if (attrs.use_global_device_ids.value_or(false)) {
    int64_t count;
    if (__builtin_mul_overflow(config.replica_count, config.num_partitions, &count))
      count = std::numeric_limits<int64_t>::max();
    return {count, "devices"};
  }
  if (attrs.channel_id.has_value() && !attrs.use_global_device_ids.has_value())
    return {config.num_partitions, "partitions"};
  return {config.replica_count, "replicas"};
}

void CheckChannel(const VerifyContext& context, const Instruction& instruction,
                  std::optional<int64_t> channel_id) {
  if (!channel_id.has_value() || *channel_id > 0) return;
  context.findings.Add(instruction.loc(), "`channel_id` of `{}` is {}, expected at least 1",
                       instruction.name(), *channel_id);
}

// Each id of 0 … n-1 in one group, n being the number of ids, which are known to differ.
bool CheckIdsAreDense(const VerifyContext& context, const Instruction& instruction,
                      const ReplicaGroups::Lists& lists, int64_t count) {
  for (const std::vector<int64_t>& list : lists) {
    if (list.empty()) {
      context.findings.Add(instruction.loc(), "`replica_groups` of `{}` has an empty group",
                           instruction.name());
      return false;
    }
    for (const int64_t id : list) {
      if (id < 0 || id >= count) {
        context.findings.Add(
            instruction.loc(),
            "`replica_groups` of `{}` has {} ids but names {}; expected 0 to {}, once each",
            instruction.name(), count, id, count - 1);
        return false;
      }
    }
  }
  return true;
}

bool IsAllReduce(Opcode opcode) { return kAllReduces.Has(opcode); }

// The groups against the module's numbers of replicas and partitions.
void CheckGroups(const VerifyContext& context, const Instruction& instruction,
                 const GroupAttrs& attrs) {
  Findings& findings = context.findings;
  if (instruction.opcode() == Opcode::kCollectiveBroadcast) return;  // any devices will do
  const bool global = attrs.use_global_device_ids.value_or(false);
  if (global && !attrs.channel_id.has_value()) {
    findings.Add(instruction.loc(), "`{}` has `use_global_device_ids` but no `channel_id`",
                 instruction.name());
  }
  if (const absl::Status status = attrs.groups.Validate(); !status.ok()) {
    return findings.AddStatus(instruction.loc(),
                              AddPrefix(status, fmt::format("`{}`", instruction.name())));
  }
  const ReplicaGroups::Lists lists = attrs.groups.Flatten();
  if (lists.empty()) {
    if (!global) return;
    return findings.Add(instruction.loc(),
                        "`{}` has `use_global_device_ids`, so `replica_groups` cannot be empty",
                        instruction.name());
  }
  int64_t count = 0;
  for (const std::vector<int64_t>& list : lists) count += static_cast<int64_t>(list.size());
  if (!CheckIdsAreDense(context, instruction, lists, count)) return;
  const DeviceRange range = RangeOf(attrs, context.module.config());
  if (range.count != 1 && range.count != count) {
    return findings.Add(instruction.loc(),
                        "`replica_groups` of `{}` names {} ids, but the module has {} {}",
                        instruction.name(), count, range.count, range.what);
  }
  if (IsAllReduce(instruction.opcode())) return;
  const auto unlike = std::find_if(
      lists.begin(), lists.end(),
      [&](const std::vector<int64_t>& list) { return list.size() != lists[0].size(); });
  if (unlike == lists.end()) return;
  findings.Add(instruction.loc(),
               "`replica_groups` of `{}` has groups of {} and of {} ids, expected equal ones",
               instruction.name(), lists[0].size(), unlike->size());
}

// Devices that work together in one group; 1 may also mean that their number is not known.
int64_t SubgroupSize(const GroupAttrs& attrs, const ModuleConfig& config) {
  const ReplicaGroups::Lists lists = attrs.groups.Flatten();
  const DeviceRange range = RangeOf(attrs, config);
  const int64_t size = lists.empty() ? range.count : static_cast<int64_t>(lists[0].size());
  const bool over_partitions =
      attrs.channel_id.has_value() && attrs.use_global_device_ids == std::optional<bool>(false);
  return over_partitions ? size * config.num_partitions : size;
}

// all-to-all of an array: the devices divide the dimension; of a tuple: there are as many operands.
void CheckSharesOfAll(const VerifyContext& context, const Instruction& all_to_all,
                      int64_t devices) {
  const auto& dimension = all_to_all.attrs<AllToAllAttrs>().dimensions;
  if (!dimension.has_value()) {
    if (all_to_all.operand_count() == devices) return;
    return context.findings.Add(all_to_all.loc(),
                                "`{}` has {} operands, expected {}, one per device of a group",
                                all_to_all.name(), all_to_all.operand_count(), devices);
  }
  const int64_t size = all_to_all.operand(0)->shape().dim(static_cast<int>(dimension->value));
  if (size == Shape::kUnbounded || devices <= 0 || size % devices == 0) return;
  context.findings.Add(all_to_all.loc(),
                       "dimension {} of `{}` has size {}, which groups of {} devices do not divide",
                       dimension->value, all_to_all.operand(0)->name(), size, devices);
}

// all-gather, reduce-scatter: the ratio of sizes is the number of devices.
void CheckShares(const VerifyContext& context, const Instruction& instruction,
                 const GroupAttrs& attrs) {
  const Opcode opcode = instruction.opcode();
  const bool gathers = kAllGathers.Has(opcode);
  if (!gathers && opcode != Opcode::kReduceScatter && opcode != Opcode::kAllToAll) return;
  const int64_t devices = SubgroupSize(attrs, context.module.config());
  if (opcode == Opcode::kAllToAll) return CheckSharesOfAll(context, instruction, devices);
  if (devices == 1) return;
  const int64_t d = gathers ? instruction.attrs<AllGatherAttrs>().dimensions.value
                            : instruction.attrs<ReduceScatterAttrs>().dimensions.value;
  Shape results = instruction.shape();
  if (opcode == Opcode::kAllGatherStart) results = results.element(1);
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const Shape operand = instruction.operand(i)->shape();
    const Shape result =
        instruction.operand_count() == 1 && results.IsArray() ? results : results.element(i);
    const int64_t whole = (gathers ? result : operand).dim(static_cast<int>(d));
    const int64_t part = (gathers ? operand : result).dim(static_cast<int>(d));
    if (whole == Shape::kUnbounded || part == Shape::kUnbounded) continue;
    const int64_t shares = part == 0 ? devices : CeilDiv(whole, part);
    if (shares == devices) continue;
    context.findings.Add(instruction.loc(),
                         "dimension {} of `{}` has size {} in operand {} and {} in the result, "
                         "which makes {} shares for groups of {} devices",
                         d, instruction.name(), gathers ? part : whole, i, gathers ? whole : part,
                         shares, devices);
    return context.findings.NoteDefinition(*instruction.operand(i));
  }
}

}  // namespace

std::string WrongDevices(const Instruction& collective_broadcast) {
  const GroupAttrs attrs = GroupAttrsOf(collective_broadcast);
  if (const absl::Status status = attrs.groups.Validate(); !status.ok())
    return fmt::format("`{}`: {}", collective_broadcast.name(), ToStd(status.message()));
  const DeviceRange range = RangeOf(attrs, collective_broadcast.module().config());
  for (const std::vector<int64_t>& list : attrs.groups.Flatten()) {
    for (const int64_t id : list) {
      if (id < range.count || range.count == 1) continue;
      return fmt::format("`replica_groups` of `{}` names {}, but the module has {} {}",
                         collective_broadcast.name(), id, range.count, range.what);
    }
  }
  return "";
}

void VerifyGroupCollective(const VerifyContext& context, const Instruction& instruction) {
  if (HasTrait(instruction.opcode(), kAsyncStart)) CheckOneUser(context, instruction);
  const GroupAttrs attrs = GroupAttrsOf(instruction);
  if (IsAllReduce(instruction.opcode())) CheckChannel(context, instruction, attrs.channel_id);
  const size_t before = context.findings.count();
  if (context.options.check_replica_groups) CheckGroups(context, instruction, attrs);
  if (context.findings.count() == before) CheckShares(context, instruction, attrs);
}

namespace {

// How often a device may be a source, and a target: as often as there are slices for it, in place.
int64_t MostMeetings(const Instruction& permute) {
  if (permute.attrs<CollectivePermuteAttrs>().slice_sizes.empty() || permute.operand_count() < 3)
    return 1;
  Shape starts = permute.operand(2)->shape();
  if (permute.operand(0)->shape().IsTuple() && starts.IsTuple() &&
      starts.element_count_of_tuple() > 0)
    starts = starts.element(0);
  return starts.IsTuple() ? std::max(1, starts.element_count_of_tuple()) : 1;
}

}  // namespace

void VerifyCollectivePermute(const VerifyContext& context, const Instruction& permute) {
  Findings& findings = context.findings;
  const CollectivePermuteAttrs& attrs = permute.attrs<CollectivePermuteAttrs>();
  if (permute.opcode() == Opcode::kCollectivePermuteStart) CheckOneUser(context, permute);
  const ModuleConfig& config = context.module.config();
  const int64_t limit = attrs.channel_id.has_value() ? config.num_partitions : config.replica_count;
  const int64_t allowed = MostMeetings(permute);
  absl::flat_hash_map<int64_t, int64_t> sources;
  absl::flat_hash_map<int64_t, int64_t> targets;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    for (const int64_t id : {source, target}) {
      if (id >= 0 && (limit == 1 || id < limit)) continue;
      return findings.Add(permute.loc(),
                          "`source_target_pairs` of `{}` names {}, expected ids in [0, {})",
                          permute.name(), id, limit);
    }
    if (++sources[source] > allowed) {
      return findings.Add(
          permute.loc(),
          "`source_target_pairs` of `{}` names source {} {} times, expected at most {}",
          permute.name(), source, sources[source], allowed);
    }
    if (++targets[target] > allowed) {
      return findings.Add(
          permute.loc(),
          "`source_target_pairs` of `{}` names target {} {} times, expected at most {}",
          permute.name(), target, targets[target], allowed);
    }
  }
}

}  // namespace hlo::internal
