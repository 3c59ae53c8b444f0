#include "passes/collectives/all_reduce_folder.h"

#include <map>
#include <set>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

using IdLists = ReplicaGroups::Lists;

// By id, the ids whose values its result is made of; empty when one comes twice.
std::map<int64_t, std::set<int64_t>> Contributors(const IdLists& first, const IdLists& second) {
  std::map<int64_t, const std::vector<int64_t>*> group_of;
  for (const auto& group : first) {
    for (const int64_t id : group) group_of[id] = &group;
  }
  std::map<int64_t, std::set<int64_t>> result;
  for (const auto& group : second) {
    std::set<int64_t> all;
    for (const int64_t member : group) {
      const auto from = group_of.find(member);
      if (from == group_of.end()) return {};
      for (const int64_t id : *from->second) {
        if (!all.insert(id).second) return {};
      }
    }
    for (const int64_t member : group) result[member] = all;
  }
  return result;
}

// The groups of one all-reduce that does what the two do; empty when there is none.
IdLists FoldedGroups(const IdLists& first, const IdLists& second) {
  const auto contributors = Contributors(first, second);
  std::set<std::set<int64_t>> groups;
  for (const auto& [id, all] : contributors) groups.insert(all);
  IdLists result;
  for (const std::set<int64_t>& group : groups) {
    // Who contributes must get the same.
    for (const int64_t id : group) {
      const auto it = contributors.find(id);
      if (it == contributors.end() || it->second != group) return {};
    }
    result.emplace_back(group.begin(), group.end());
  }
  return result;
}

// all-reduce(all-reduce(x))  =>  all-reduce(x) over larger groups
Instruction* FoldTwo(Instruction* outer, Rewriter& rewriter) {
  Instruction* const inner = outer->operand(0);
  if (inner->opcode() != Opcode::kAllReduce || !outer->shape().IsArray() ||
      !inner->has_one_user() || inner->has_control_edges())
    return nullptr;
  AllReduceAttrs attrs = outer->attrs<AllReduceAttrs>();
  const auto& before = inner->attrs<AllReduceAttrs>();
  const std::optional<Opcode> combine = CombinerOpcode(*outer->to_apply());
  PassContext& context = rewriter.context();
  if (!combine || combine != CombinerOpcode(*inner->to_apply()) ||
      GroupModeOf(*outer) != GroupModeOf(*inner) || attrs.constrain_layout ||
      before.constrain_layout) {
    context.Missed(*outer, "the all-reduce before it reduces in another way");
    return nullptr;
  }
  IdLists groups = FoldedGroups(before.replica_groups.Flatten(), attrs.replica_groups.Flatten());
  // Of partitions that are in a group with their replica a value would come several times.
  if (groups.empty() || (*GroupModeOf(*outer) == GroupMode::kCrossReplicaAndPartition &&
                         outer->module().config().num_partitions > 1)) {
    context.Missed(*outer, "with the all-reduce before it, no group of devices does the same");
    return nullptr;
  }
  attrs.replica_groups.form = std::move(groups);
  if (attrs.channel_id) attrs.channel_id = NextChannelId(outer->module());  // other devices meet
  return rewriter.OpWithShape(Opcode::kAllReduce, outer->shape(), {inner->operand(0)},
                              AttrsPtr::Make(std::move(attrs)), {outer->to_apply()});
}

constexpr Rule kFoldRules[] = {{"fold-two", Opcode::kAllReduce, kReassociate, FoldTwo}};

}  // namespace

AllReduceFolder::AllReduceFolder() : CollectiveRewritePass(this, kFoldRules) {}

HLO_DEFINE_PASS(AllReduceFolder)

}  // namespace hlo
