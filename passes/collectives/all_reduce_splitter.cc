#include "passes/collectives/all_reduce_splitter.h"

#include "lib/analysis/region.h"
#include "passes/collectives/own_part.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

using GroupLists = ReplicaGroups::Lists;

struct Steps {
  GroupLists first;   // devices that take different parts, each in the order of the parts
  GroupLists second;  // devices that take the same part
};

// How the ids of one group fall apart, each part taken equally often. The order in which the group
// lists them does not count.
std::optional<Steps> FindSteps(std::vector<int64_t> ids, const OwnPart& part, int64_t parts) {
  const auto count = static_cast<int64_t>(ids.size());
  if (parts < 2 || parts >= count || count % parts != 0) return std::nullopt;
  absl::c_sort(ids);
  Steps steps;
  steps.second.resize(static_cast<size_t>(parts));
  for (const int64_t id : ids) {
    if (id >= std::ssize(part.place_of_device)) return std::nullopt;
    const int64_t place = part.place_of_device[static_cast<size_t>(id)];
    if (place < 0 || place >= parts) return std::nullopt;
    steps.second[static_cast<size_t>(place)].push_back(id);
  }
  steps.first.resize(static_cast<size_t>(count / parts));
  for (const std::vector<int64_t>& same : steps.second) {
    if (same.size() != steps.first.size()) return std::nullopt;
    for (size_t i = 0; i < same.size(); ++i) steps.first[i].push_back(same[i]);
  }
  return steps;
}

// The number of ids that groups may hold where there is one list for all.
std::vector<int64_t> IdsOf(const Instruction& reduce) {
  const GroupLists lists = ReplicaGroupsOf(reduce).Flatten();
  if (lists.size() > 1) return {};
  return DeviceGroups(reduce)[0];
}

class ReduceSplitter {
 public:
  ReduceSplitter(Computation& computation, PassContext& context)
      : computation_(computation), context_(context) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    const std::vector<Instruction*> order = computation_.PostOrder();
    for (Instruction* slice : order) {
      if (slice->opcode() != Opcode::kDynamicSlice ||
          slice->operand(0)->opcode() != Opcode::kAllReduce)
        continue;
      const std::optional<Steps> steps = Find(*slice);
      if (!steps) continue;
      if (!HasOther(order, steps->first, *slice->operand(0)) &&
          !HasOther(order, steps->second, *slice->operand(0))) {
        context_.Missed(*slice->operand(0), "no other all-reduce has the groups of a step");
        continue;
      }
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*slice->operand(0), "reduced in two steps");
      Split(slice, *steps);
      context_.Count("split");
      changed = true;
    }
    return changed;
  }

 private:
  std::optional<Steps> Find(const Instruction& slice) const {
    const Instruction& reduce = *slice.operand(0);
    const GroupMode mode = *GroupModeOf(reduce);
    // Ids are devices, or replicas that are devices.
    const bool ids_are_devices =
        mode == GroupMode::kFlattened || reduce.module().config().num_partitions == 1;
    if (!reduce.shape().IsArray() || !reduce.has_one_user() || reduce.is_root() ||
        !ids_are_devices || !CombinerOpcode(*reduce.to_apply()))
      return std::nullopt;
    const std::optional<OwnPart> part = FindOwnPart(slice);
    if (!part) return std::nullopt;
    const int64_t whole = reduce.shape().dim(static_cast<int>(part->dimension));
    return FindSteps(IdsOf(reduce), *part, whole / part->size);
  }

  static bool HasOther(const std::vector<Instruction*>& order, const GroupLists& groups,
                       const Instruction& reduce) {
    return absl::c_any_of(order, [&](const Instruction* other) {
      return other != &reduce && !other->is_dead() && other->opcode() == Opcode::kAllReduce &&
             ReplicaGroupsOf(*other).Flatten() == groups;
    });
  }

  Instruction* Reduce(const Instruction& like, Instruction* x, const GroupLists& groups,
                      bool is_second) const {
    Instruction* reduce = computation_.AddClone(like, x->shape(), {x});
    reduce->SetCalls({like.to_apply()});
    AllReduceAttrs attrs = like.attrs<AllReduceAttrs>();
    attrs.replica_groups.form = groups;
    if (is_second && attrs.channel_id) attrs.channel_id = NextChannelId(like.module());
    reduce->SetAttrs(std::move(attrs));
    return reduce;
  }

  void Split(Instruction* slice, const Steps& steps) const {
    Instruction* const reduce = slice->operand(0);
    const uint32_t first_new = computation_.module().id_limit();
    Instruction* first = Reduce(*reduce, reduce->operand(0), steps.first, false);
    std::vector<Instruction*> operands = slice->operand_vector();
    operands[0] = first;
    Instruction* part = computation_.AddClone(*slice, slice->shape(), operands);
    Instruction* second = Reduce(*reduce, part, steps.second, true);
    ReplaceKeepingExtras(slice, second, first_new);
    computation_.Replace(reduce, first);  // control edges
  }

  Computation& computation_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> AllReduceSplitter::Run(Module& module, PassContext& context) {
  return ChangesAny(
      context.NonFusionComputations(module, {Opcode::kAllReduce}),
      [&](Computation& computation) { return ReduceSplitter(computation, context).Run(); });
}

HLO_DEFINE_PASS(AllReduceSplitter)

}  // namespace hlo
