#include "passes/collectives/ar_crs_combiner.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "lib/analysis/replication.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

constexpr int64_t kReplicasPerPartition = 8;

// A sum over partitions, what is done with it, and the sum over replicas at the end.
struct ReductionPath {
  Instruction* partitions;
  std::vector<Instruction*> steps;
  Instruction* replicas;
};

bool IsSum(const Instruction& reduce) {
  return reduce.opcode() == Opcode::kAllReduce && reduce.shape().IsArray() &&
         reduce.operand_count() == 1 && !reduce.attrs<AllReduceAttrs>().constrain_layout &&
         CombinerOpcode(*reduce.to_apply()) == Opcode::kAdd;
}

// A sum over exactly the partitions of each replica.
bool SumsPartitions(const Instruction& reduce) {
  if (!IsSum(reduce) || !reduce.attrs<AllReduceAttrs>().channel_id) return false;
  const ModuleConfig& config = reduce.module().config();
  const auto groups = DeviceGroups(reduce);
  if (static_cast<int64_t>(groups.size()) != config.replica_count) return false;
  return std::all_of(groups.begin(), groups.end(), [&](const std::vector<int64_t>& group) {
    return static_cast<int64_t>(group.size()) == config.num_partitions &&
           std::all_of(group.begin(), group.end(), [&](int64_t device) {
             return device / config.num_partitions == group[0] / config.num_partitions;
           });
  });
}

bool SumsReplicas(const Instruction& reduce) {
  return IsSum(reduce) && !reduce.attrs<AllReduceAttrs>().channel_id && GroupSize(reduce) != 1;
}

bool HasOneUse(const Instruction& value) { return value.use_count() == 1 && !value.is_root(); }

bool KeepsKind(const Instruction& convert) {
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return (IsFloat(from) && IsFloat(to)) || (IsInteger(from) && IsInteger(to));
}

bool IsLinearStep(const Instruction& step) {
  const Opcode opcode = step.opcode();
  if (opcode == Opcode::kBitcast || opcode == Opcode::kTranspose || opcode == Opcode::kReshape)
    return true;
  if (opcode == Opcode::kConvert) return KeepsKind(step);
  return (opcode == Opcode::kAdd || opcode == Opcode::kSubtract || opcode == Opcode::kMultiply) &&
         IsFloat(step.shape().element_type()) && step.operand(0) != step.operand(1);
}

std::optional<ReductionPath> PathFrom(Instruction* partitions) {
  if (!SumsPartitions(*partitions) || !HasOneUse(*partitions)) return std::nullopt;
  ReductionPath path{partitions, {}, nullptr};
  for (Instruction* next = partitions->uses()[0].user;; next = next->uses()[0].user) {
    if (SumsReplicas(*next)) {
      path.replicas = next;
      return path;
    }
    if (!IsLinearStep(*next) || !HasOneUse(*next)) return std::nullopt;
    path.steps.push_back(next);
  }
}

class ReductionJoiner {
 public:
  ReductionJoiner(Module& module, PassContext& context)
      : module_(module),
        context_(context),
        same_(context.analyses().Get<Values>(module), Replication::Across::kPartitions) {}

  absl::StatusOr<bool> Run(const std::vector<Computation*>& computations) {
    const std::vector<ReductionPath> paths = Farthest(computations);
    const std::vector<Instruction*> wide = SumsToWiden(computations, paths);
    bool changed = false;
    for (const ReductionPath& path : paths) {
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*path.partitions, "done with `{}`", path.replicas->name());
      RETURN_IF_ERROR(Join(path));
      context_.Count("joined");
      changed = true;
    }
    for (Instruction* reduce : wide) {
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*reduce, "done over all devices");
      RETURN_IF_ERROR(Widen(reduce));
      context_.Count("widened");
      changed = true;
    }
    return changed;
  }

 private:
  // Of the paths to one sum over replicas the longest one.
  std::vector<ReductionPath> Farthest(const std::vector<Computation*>& computations) const {
    std::vector<ReductionPath> paths;
    std::map<uint32_t, size_t> by_end;
    for (Computation* computation : computations) {
      for (Instruction* instruction : computation->PostOrder()) {
        std::optional<ReductionPath> path = PathFrom(instruction);
        if (!path || !IsSameOnPartitions(*path)) continue;
        const auto [it, is_first] = by_end.emplace(path->replicas->id(), paths.size());
        if (is_first) {
          paths.push_back(std::move(*path));
        } else if (path->steps.size() > paths[it->second].steps.size()) {
          paths[it->second] = std::move(*path);
        }
      }
    }
    return paths;
  }

  bool IsSameOnPartitions(const ReductionPath& path) const {
    const bool same = same_.Of(*path.replicas) &&
                      std::all_of(path.steps.begin(), path.steps.end(),
                                  [&](const Instruction* step) { return same_.Of(*step); });
    if (!same) context_.Missed(*path.partitions, "what follows may differ between partitions");
    return same;
  }

  // value / number of partitions
  Instruction* Share(Instruction* value) const {
    Rewriter b(value->parent(), context_);
    b.set_origin(value);
    return b.Divide(value,
                    b.ConstantLike(value, static_cast<double>(module_.config().num_partitions)));
  }

  absl::Status Join(const ReductionPath& path) const {
    const auto& channel = path.partitions->attrs<AllReduceAttrs>().channel_id;
    const int64_t id = *channel;
    Computation& computation = *path.partitions->parent();
    const Instruction* before = path.partitions->operand(0);
    computation.Replace(path.partitions, path.partitions->operand(0));
    for (Instruction* step : path.steps) {
      if (step->opcode() == Opcode::kAdd || step->opcode() == Opcode::kSubtract)
        ShareOther(step, before);
      before = step;
    }
    AllReduceAttrs attrs = path.replicas->attrs<AllReduceAttrs>();
    attrs.channel_id = id;
    path.replicas->SetAttrs(std::move(attrs));
    return absl::OkStatus();
  }

  // What else is added, each partition adds its share of.
  void ShareOther(Instruction* step, const Instruction* before) const {
    const int side = step->operand(0) == before ? 1 : 0;
    Instruction* const other = step->operand(side);
    if (SumsPartitions(*other) && HasOneUse(*other)) {
      other->parent()->Replace(other, other->operand(0));
    } else {
      step->ReplaceOperand(side, Share(other));
    }
  }

  std::vector<Instruction*> SumsToWiden(const std::vector<Computation*>& computations,
                                        const std::vector<ReductionPath>& paths) const {
    std::vector<Instruction*> result;
    const ModuleConfig& config = module_.config();
    if (config.replica_count <= 1 || config.num_partitions <= 1 ||
        config.replica_count < kReplicasPerPartition * config.num_partitions)
      return result;
    for (Computation* computation : computations) {
      for (Instruction* reduce : computation->PostOrder()) {
        const bool is_joined =
            std::any_of(paths.begin(), paths.end(),
                        [&](const ReductionPath& path) { return path.replicas == reduce; });
        if (!is_joined && SumsReplicas(*reduce) &&
            reduce->shape().element_type() == ElementType::kF32 &&
            ReplicaGroupsOf(*reduce).Flatten().size() <= 1 && same_.Of(*reduce->operand(0)))
          result.push_back(reduce);
      }
    }
    return result;
  }

  absl::Status Widen(Instruction* reduce) const {
    AllReduceAttrs attrs = reduce->attrs<AllReduceAttrs>();
    attrs.channel_id = NextChannelId(module_);
    const uint32_t first_new = module_.id_limit();
    Computation& computation = *reduce->parent();
    Instruction* wide = computation.AddClone(*reduce, reduce->shape(), {reduce->operand(0)});
    wide->SetCalls({reduce->to_apply()});
    wide->SetAttrs(std::move(attrs));
    ReplaceKeepingExtras(reduce, Share(wide), first_new);
    return absl::OkStatus();
  }

  Module& module_;
  PassContext& context_;
  Replication same_;
};

}  // namespace

absl::StatusOr<bool> ArCrsCombiner::Run(Module& module, PassContext& context) {
  if (!options_.spmd_partition)
    return Unsupported({}, "several programs in one module are not supported");
  const std::vector<Computation*> computations =
      context.NonFusionComputations(module, {Opcode::kAllReduce});
  if (computations.empty()) return false;
  return ReductionJoiner(module, context).Run(computations);
}

HLO_DEFINE_PASS(ArCrsCombiner)

}  // namespace hlo
