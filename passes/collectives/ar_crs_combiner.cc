#include "passes/collectives/ar_crs_combiner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "lib/analysis/replication.h"
#include "lib/ir/compare.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"
#include "passes/util/same_kind.h"

namespace hlo {
namespace {

constexpr int64_t kReplicasPerPartition = 8;
constexpr int kMaxSameDepth = 512;

// How many partitions each replica has, and whether they run one program or one each.
struct Partitions {
  int64_t count;
  bool is_one_program;
};

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
bool SumsPartitions(const Instruction& reduce, const Partitions& partitions) {
  if (!IsSum(reduce) || !reduce.attrs<AllReduceAttrs>().channel_id) return false;
  // Groups are those of replicas, with all their partitions, unless they say otherwise.
  const bool are_devices = reduce.attrs<AllReduceAttrs>().use_global_device_ids;
  const ReplicaGroups::Lists groups = ReplicaGroupsOf(reduce).Flatten();
  if (static_cast<int64_t>(groups.size()) != reduce.module().config().replica_count) return false;
  return absl::c_all_of(groups, [&](const std::vector<int64_t>& group) {
    return static_cast<int64_t>(group.size()) == (are_devices ? partitions.count : 1) &&
           absl::c_all_of(group, [&](int64_t device) {
             return !are_devices || device / partitions.count == group[0] / partitions.count;
           });
  });
}

bool SumsReplicas(const Instruction& reduce) {
  return IsSum(reduce) && !reduce.attrs<AllReduceAttrs>().channel_id && GroupSize(reduce) != 1;
}

bool HasOneUse(const Instruction& value) { return value.use_count() == 1 && !value.is_root(); }

bool IsLinearStep(const Instruction& step) {
  const Opcode opcode = step.opcode();
  if (opcode == Opcode::kBitcast || opcode == Opcode::kTranspose || opcode == Opcode::kReshape)
    return true;
  if (opcode == Opcode::kConvert) return KeepsSums(step);
  return (opcode == Opcode::kAdd || opcode == Opcode::kSubtract || opcode == Opcode::kMultiply) &&
         IsFloat(step.shape().element_type()) && step.operand(0) != step.operand(1);
}

std::optional<ReductionPath> PathFrom(Instruction* first, const Partitions& partitions) {
  if (!SumsPartitions(*first, partitions) || !HasOneUse(*first)) return std::nullopt;
  ReductionPath path{first, {}, nullptr};
  for (Instruction* next = first->uses()[0].user;; next = next->uses()[0].user) {
    if (SumsReplicas(*next)) {
      path.replicas = next;
      return path;
    }
    if (!IsLinearStep(*next) || !HasOneUse(*next)) return std::nullopt;
    path.steps.push_back(next);
  }
}

// Whether instructions of the programs of different partitions of a replica compute the same.
class SameValues {
 public:
  explicit SameValues(const Partitions& partitions) : partitions_(partitions) {}

  bool Of(Instruction* a, Instruction* b) {
    if (a == b) return true;
    // std::minmax alone refers to numbers that are gone.
    const std::pair<uint32_t, uint32_t> pair = std::minmax(a->id(), b->id());
    if (seen_.contains(pair)) return true;  // unless something else speaks against it
    const bool are_elements = a->opcode() == Opcode::kGetTupleElement &&
                              b->opcode() == Opcode::kGetTupleElement &&
                              Compatible(a->shape(), b->shape());
    if (depth_ > kMaxSameDepth || a->operand_count() != b->operand_count() || !MayBeSame(*a) ||
        (!are_elements && !SameNode(*a, *b, Loosely())))
      return false;
    if (a->opcode() == Opcode::kAllReduce && a->attrs<AllReduceAttrs>().channel_id)
      return SumsPartitions(*a, partitions_);  // of all of them, whatever each adds
    seen_.insert(pair);
    ++depth_;
    bool same = true;
    for (int i = 0; same && i < a->operand_count(); ++i) same = Of(a->operand(i), b->operand(i));
    if (same && a->opcode() == Opcode::kGetTupleElement && a->tuple_index() != b->tuple_index())
      same = ElementsAreSame(a->operand(0), a->tuple_index(), b->tuple_index());
    --depth_;
    return same;
  }

 private:
  using Tuples = std::optional<std::vector<Instruction*>>;

  static CompareOptions Loosely() {
    CompareOptions options;
    options.layout_sensitive = false;
    options.compare_sharding = false;
    options.compare_control_edges = false;
    options.compare_frontend_attributes = false;
    return options;
  }

  // Nothing else than the place of its program says what it gives.
  static bool MayBeSame(const Instruction& value) {
    const Opcode opcode = value.opcode();
    if (opcode == Opcode::kAllReduce) return true;
    return opcode != Opcode::kParameter && opcode != Opcode::kPartitionId &&
           opcode != Opcode::kRng && !HasTrait(opcode, kCollective) && !value.HasSideEffect() &&
           !(value.IsConstant() && value.literal().is_elided());
  }

  bool ElementsAreSame(Instruction* tuple, int64_t i, int64_t j) {
    std::set<uint32_t> visited;
    const Tuples tuples = TuplesOf(tuple, visited);
    if (!tuples) return false;
    return std::all_of(tuples->begin(), tuples->end(), [&](Instruction* made) {
      return Of(made->operand(static_cast<int>(i)), made->operand(static_cast<int>(j)));
    });
  }

  // All tuple instructions that `value` may come from; none if something else may be it.
  static Tuples TuplesOf(Instruction* value, std::set<uint32_t>& visited) {
    if (!visited.insert(value->id()).second) return std::vector<Instruction*>();
    std::vector<Instruction*> sources;
    if (value->opcode() == Opcode::kTuple) {
      return std::vector<Instruction*>{value};
    } else if (value->opcode() == Opcode::kDomain) {
      sources.push_back(value->operand(0));
    } else if (value->opcode() == Opcode::kWhile) {
      sources = {value->operand(0), value->while_body()->root()};
    } else if (value->opcode() == Opcode::kConditional) {
      for (const Computation* branch : value->calls()) sources.push_back(branch->root());
    } else if (value->opcode() == Opcode::kParameter) {
      for (const CallSite& site : value->parent()->callers()) {
        if (site.caller != value->parent()->callers()[0].caller) return std::nullopt;
        if (site.caller->opcode() == Opcode::kWhile) {
          sources = {site.caller->operand(0), site.caller->while_body()->root()};
        } else if (site.caller->opcode() == Opcode::kConditional) {
          sources.push_back(site.caller->operand(site.call_index + 1));
        }
      }
    } else if (value->opcode() == Opcode::kGetTupleElement) {
      const Tuples outer = TuplesOf(value->operand(0), visited);
      if (!outer) return std::nullopt;
      for (const Instruction* tuple : *outer)
        sources.push_back(tuple->operand(static_cast<int>(value->tuple_index())));
      return AllOf(sources, visited);
    }
    if (sources.empty()) return std::nullopt;
    return AllOf(sources, visited);
  }

  static Tuples AllOf(const std::vector<Instruction*>& sources, std::set<uint32_t>& visited) {
    std::vector<Instruction*> all;
    for (Instruction* source : sources) {
      const Tuples tuples = TuplesOf(source, visited);
      if (!tuples) return std::nullopt;
      all.insert(all.end(), tuples->begin(), tuples->end());
    }
    return all;
  }

  const Partitions& partitions_;
  std::set<std::pair<uint32_t, uint32_t>> seen_;
  int depth_ = 0;
};

// The reductions of several programs in one module, by their channel.
class ProgramPaths {
 public:
  ProgramPaths(const Partitions& partitions, PassContext& context)
      : partitions_(partitions), context_(context) {}

  // Of those to one sum over replicas the longest one; on all partitions, with the same in between.
  std::vector<ReductionPath> Find(const std::vector<Computation*>& computations) {
    for (Computation* computation : computations) {
      for (Instruction* instruction : computation->PostOrder()) {
        std::optional<ReductionPath> path = PathFrom(instruction, partitions_);
        if (path) Add(std::move(*path));
      }
    }
    std::vector<ReductionPath> found;
    for (const auto& [channel, paths] : by_channel_) {
      if (AreSame(paths)) {
        found.insert(found.end(), paths.begin(), paths.end());
      } else if (!paths.empty()) {
        context_.Missed(*paths[0].partitions, "what follows may differ between partitions");
      }
    }
    return found;
  }

 private:
  using Paths = std::vector<ReductionPath>;

  void Add(ReductionPath path) {
    const int64_t channel = *path.partitions->attrs<AllReduceAttrs>().channel_id;
    if (discarded_.contains(channel)) return;
    const auto reserved = channel_of_end_.find(path.replicas->id());
    if (reserved != channel_of_end_.end()) {
      const int64_t other = reserved->second;
      const bool is_longer = path.steps.size() > by_channel_[other][0].steps.size();
      Discard(is_longer && other != channel ? other : channel);
      if (discarded_.contains(channel)) return;
    }
    channel_of_end_[path.replicas->id()] = channel;
    by_channel_[channel].push_back(std::move(path));
  }

  void Discard(int64_t channel) {
    for (const ReductionPath& path : by_channel_[channel])
      channel_of_end_.erase(path.replicas->id());
    by_channel_[channel].clear();
    discarded_.insert(channel);
  }

  bool AreSame(const Paths& paths) const {
    if (std::ssize(paths) != partitions_.count) return false;
    for (size_t i = 1; i < paths.size(); ++i) {
      if (paths[i].steps.size() != paths[0].steps.size()) return false;
      SameValues same(partitions_);
      for (size_t step = 0; step < paths[0].steps.size(); ++step) {
        Instruction* const first = paths[0].steps[step];
        Instruction* const other = paths[i].steps[step];
        if (!same.Of(first, other) || Drops(*first) != Drops(*other)) return false;
      }
      if (!same.Of(paths[0].replicas, paths[i].replicas)) return false;
    }
    return true;
  }

  // How many sums over partitions are added and read by nothing else.
  int64_t Drops(const Instruction& step) const {
    return absl::c_count_if(step.operands(), [&](const Instruction* operand) {
      return SumsPartitions(*operand, partitions_) && HasOneUse(*operand);
    });
  }

  const Partitions& partitions_;
  PassContext& context_;
  std::map<int64_t, Paths> by_channel_;
  std::map<uint32_t, int64_t> channel_of_end_;
  std::set<int64_t> discarded_;
};

class ReductionJoiner {
 public:
  ReductionJoiner(Module& module, const Partitions& partitions, PassContext& context)
      : module_(module),
        partitions_(partitions),
        context_(context),
        same_(context.analyses().Get<Values>(module), Replication::Across::kPartitions) {}

  absl::StatusOr<bool> Run(const std::vector<Computation*>& computations) {
    const std::vector<ReductionPath> paths =
        partitions_.is_one_program ? Farthest(computations)
                                   : ProgramPaths(partitions_, context_).Find(computations);
    std::vector<Instruction*> wide;
    if (partitions_.is_one_program) wide = SumsToWiden(computations, paths);
    bool changed = false;
    std::optional<int64_t> channel;
    for (const ReductionPath& path : paths) {
      // The parts of one reduction change together.
      const std::optional<int64_t> last = channel;
      channel = path.partitions->attrs<AllReduceAttrs>().channel_id;
      if ((partitions_.is_one_program || channel != last) && !context_.MayRewrite()) return changed;
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
        std::optional<ReductionPath> path = PathFrom(instruction, partitions_);
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
    const bool same =
        same_.Of(*path.replicas) &&
        absl::c_all_of(path.steps, [&](const Instruction* step) { return same_.Of(*step); });
    if (!same) context_.Missed(*path.partitions, "what follows may differ between partitions");
    return same;
  }

  // value / number of partitions
  Instruction* Share(Instruction* value) const {
    Rewriter b(value->parent(), context_, value);
    Literal count = Literal::Filled(value->shape(), static_cast<double>(partitions_.count));
    return b.Divide(value, b.Constant(std::move(count)));
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
    if (SumsPartitions(*other, partitions_) && HasOneUse(*other)) {
      other->parent()->Replace(other, other->operand(0));
    } else {
      step->ReplaceOperand(side, Share(other));
    }
  }

  std::vector<Instruction*> SumsToWiden(const std::vector<Computation*>& computations,
                                        const std::vector<ReductionPath>& paths) const {
    std::vector<Instruction*> result;
    const ModuleConfig& config = module_.config();
    if (config.replica_count <= 1 || partitions_.count <= 1 ||
        config.replica_count < kReplicasPerPartition * partitions_.count)
      return result;
    for (Computation* computation : computations) {
      for (Instruction* reduce : computation->PostOrder()) {
        const bool is_joined = absl::c_any_of(
            paths, [&](const ReductionPath& path) { return path.replicas == reduce; });
        if (!is_joined && SumsReplicas(*reduce) &&
            reduce->shape().element_type() == ElementType::kF32 &&
            ReplicaGroupsOf(*reduce).Flatten().size() <= 1 && same_.Of(*reduce->operand(0)))
          result.push_back(reduce);
      }
    }
    return result;
  }

  absl::Status Widen(Instruction* reduce) const {
    Computation& computation = *reduce->parent();
    const std::vector<Use> uses(reduce->uses().begin(), reduce->uses().end());
    AllReduceAttrs attrs = reduce->attrs<AllReduceAttrs>();
    attrs.channel_id = NextChannelId(module_);
    reduce->SetAttrs(std::move(attrs));
    Rewriter b(&computation, context_, reduce);
    Instruction* const count =
        b.ScalarConstant(ElementType::kF32, static_cast<double>(partitions_.count));
    Instruction* const everywhere = b.OpWithShape(Opcode::kBroadcast, reduce->shape(), {count},
                                                  AttrsPtr::Make(BroadcastAttrs{}));
    Instruction* const share = b.Divide(reduce, everywhere);
    RETURN_IF_ERROR(b.status());
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, share);
    if (reduce->is_root()) computation.set_root(share);
    return absl::OkStatus();
  }

  Module& module_;
  const Partitions& partitions_;
  PassContext& context_;
  Replication same_;
};

}  // namespace

absl::StatusOr<bool> ArCrsCombiner::Run(Module& module, PassContext& context) {
  const bool is_said = !options_.spmd_partition || options_.num_spatial_partitions > 0;
  const Partitions partitions = {
      is_said ? options_.num_spatial_partitions : module.config().num_partitions,
      options_.spmd_partition};
  if (!partitions.is_one_program && partitions.count < 2) return false;
  const std::vector<Computation*> computations =
      context.NonFusionComputations(module, {Opcode::kAllReduce});
  if (computations.empty()) return false;
  return ReductionJoiner(module, partitions, context).Run(computations);
}

HLO_DEFINE_PASS(ArCrsCombiner)

}  // namespace hlo
