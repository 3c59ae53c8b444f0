#include "passes/collectives/all_reduce_splitter.h"

#include <set>

#include "lib/analysis/region.h"
#include "passes/collectives/own_part.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

using GroupLists = ReplicaGroups::Lists;

struct Steps {
  GroupLists first;   // devices that take different parts: one after the other
  GroupLists second;  // devices that take the same part
};

Steps StepsOf(int64_t devices, int64_t parts) {
  Steps steps;
  for (int64_t start = 0; start < devices; start += parts) {
    std::vector<int64_t>& group = steps.first.emplace_back();
    for (int64_t part = 0; part < parts; ++part) group.push_back(start + part);
  }
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<int64_t>& group = steps.second.emplace_back();
    for (int64_t device = part; device < devices; device += parts) group.push_back(device);
  }
  return steps;
}

// Whether all partitions of a module with one replica reduce together, for one reader.
bool IsOfAllPartitions(const Instruction& reduce) {
  const ModuleConfig& config = reduce.module().config();
  if (reduce.opcode() != Opcode::kAllReduce || !reduce.shape().IsArray() ||
      !reduce.has_one_user() || reduce.is_root() || config.replica_count != 1 ||
      config.num_partitions < 2 || HasManyDevices(config) ||
      GroupModeOf(reduce) != GroupMode::kFlattened ||
      reduce.attrs<AllReduceAttrs>().constrain_layout || !CombinerOpcode(*reduce.to_apply()))
    return false;
  const GroupLists lists = ReplicaGroupsOf(reduce).Flatten();
  return lists.size() == 1 && std::ssize(lists[0]) == config.num_partitions;
}

class ReduceSplitter {
 public:
  ReduceSplitter(Computation& computation, PassContext& context)
      : computation_(computation), context_(context) {
    for (const Instruction* other : computation.instructions()) {
      if (other->opcode() == Opcode::kAllReduce) groups_.insert(ReplicaGroupsOf(*other).Flatten());
    }
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Instruction* reduce : computation_.PostOrder()) {
      if (!IsOfAllPartitions(*reduce)) continue;
      Instruction* const slice = reduce->uses()[0].user;
      const std::optional<Steps> steps = Find(*slice);
      if (!steps) continue;
      if (!groups_.contains(steps->first) && !groups_.contains(steps->second)) {
        context_.Missed(*reduce, "no other all-reduce has the groups of a step");
        continue;
      }
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*reduce, "reduced in two steps");
      Split(reduce, slice, *steps);
      context_.Count("split");
      changed = true;
    }
    return changed;
  }

 private:
  // The steps of the all-reduce that `slice` takes a part of.
  static std::optional<Steps> Find(const Instruction& slice) {
    if (slice.opcode() != Opcode::kDynamicSlice || slice.users().size() > 1) return std::nullopt;
    const std::optional<OwnPart> part = FindOwnPart(slice, PartsCover::kFront);
    if (!part) return std::nullopt;
    const int64_t whole = slice.operand(0)->shape().dim(static_cast<int>(part->dimension));
    const int64_t parts = whole / part->size;
    const int64_t devices = slice.module().config().num_partitions;
    if (parts < 2 || parts >= devices || devices % parts != 0) return std::nullopt;
    Steps steps = StepsOf(devices, parts);
    if (!TakesPartsInOrder(*part, steps.first, parts * part->size)) return std::nullopt;
    return steps;
  }

  // An all-reduce like `like`, in a channel of its own.
  Instruction* Reduce(const Instruction& like, Instruction* x, const GroupLists& groups) const {
    Instruction* const reduce = computation_.AddClone(like, x->shape(), {x});
    AllReduceAttrs attrs = like.attrs<AllReduceAttrs>();
    attrs.replica_groups.form = groups;
    attrs.channel_id = NextChannelId(like.module());
    reduce->SetAttrs(std::move(attrs));
    return reduce;
  }

  void Split(Instruction* reduce, Instruction* slice, const Steps& steps) const {
    const uint32_t first_new = computation_.module().id_limit();
    Instruction* const first = Reduce(*reduce, reduce->operand(0), steps.first);
    const std::vector<Use> uses(slice->uses().begin(), slice->uses().end());
    Instruction* const second = Reduce(*reduce, slice, steps.second);
    second->clear_sharding();
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, second);
    if (slice->is_root()) computation_.set_root(second);
    ReplaceKeepingExtras(reduce, first, first_new);
  }

  Computation& computation_;
  PassContext& context_;
  std::set<GroupLists> groups_;  // of all all-reduces, as they were
};

}  // namespace

absl::StatusOr<bool> AllReduceSplitter::Run(Module& module, PassContext& context) {
  return ChangesAny(
      context.NonFusionComputations(module, {Opcode::kAllReduce}),
      [&](Computation& computation) { return ReduceSplitter(computation, context).Run(); });
}

HLO_DEFINE_PASS(AllReduceSplitter)

}  // namespace hlo
