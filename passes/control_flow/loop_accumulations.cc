#include "passes/control_flow/loop_accumulations.h"

#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "lib/analysis/trip_count.h"
#include "lib/ops/opcode_set.h"
#include "passes/util/loop_state.h"
#include "passes/util/same_kind.h"

namespace hlo {

// From an element of the state to a value, or from a value to the element.
struct LoopAccumulations::Path {
  int64_t element = -1;
  const Instruction* part = nullptr;  // the dynamic-slice or the dynamic-update-slice
  DimVec order;                       // what transposes do, all together
  bool reshapes = false;

  // Adds a transpose after the others.
  void Transpose(const Instruction& transpose) {
    const DimVec& next = transpose.attrs<TransposeAttrs>().dimensions;
    if (order.empty()) {
      order = next;
      return;
    }
    DimVec both;
    for (const int64_t d : next) both.push_back(order[static_cast<size_t>(d)]);
    order = std::move(both);
  }
};

namespace {

bool OnlyUse(const Instruction& value) {
  return value.use_count() == 1 && !value.is_root() && !value.has_control_edges();
}

bool IsSummable(ElementType type) {
  return (IsFloat(type) && BitWidth(type) >= 16) || (IsInteger(type) && BitWidth(type) >= 8);
}

// Whether `value`, one of the two choices of `select`, is chosen instead of zeros.
bool IsChosenOrZero(const Instruction& select, const Instruction& value) {
  return (select.operand(1) == &value && IsZeroValue(*select.operand(2))) ||
         (select.operand(2) == &value && IsZeroValue(*select.operand(1)));
}

// The all-reduce of a scalar that `value` is a broadcast of; null if it is something else.
const Instruction* BroadcastReduce(const Instruction* value) {
  bool is_broadcast = false;
  while (value->opcode() == Opcode::kBroadcast || value->opcode() == Opcode::kConvert) {
    is_broadcast |= value->opcode() == Opcode::kBroadcast;
    value = value->operand(0);
  }
  return is_broadcast && value->opcode() == Opcode::kAllReduce && value->shape().IsScalar()
             ? value
             : nullptr;
}

// Whether the condition looks at element `i`.
bool ConditionReads(const Instruction& loop, int64_t i) {
  const Instruction& parameter = *loop.while_condition()->parameter(0);
  if (parameter.is_root()) return true;
  return absl::c_any_of(parameter.uses(), [&](const Use& use) {
    const Instruction& read = *use.user;
    return read.opcode() != Opcode::kGetTupleElement ||
           (read.tuple_index() == i && (read.is_root() || read.has_uses()));
  });
}

bool AnyConditionReads(const std::vector<Instruction*>& loops, int64_t i) {
  return absl::c_any_of(loops, [&](const Instruction* loop) { return ConditionReads(*loop, i); });
}

// Whether something but `sum` depends on element `i`, in a body that ends with `root`.
bool IsReadBeside(const Instruction& parameter, int64_t i, const Instruction& sum,
                  const Instruction* update) {
  std::vector<const Instruction*> pending;
  if (parameter.is_root()) return true;
  for (const Use& use : parameter.uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return true;
    if (use.user->tuple_index() == i) pending.push_back(use.user);
  }
  while (!pending.empty()) {
    const Instruction& value = *pending.back();
    pending.pop_back();
    if (value.is_root() || value.has_control_edges()) return true;
    for (const Use& use : value.uses()) {
      const Instruction& user = *use.user;
      if (&user == &sum || (&user == update && use.operand_index == 0)) continue;
      const Opcode opcode = user.opcode();
      const bool is_moved = opcode == Opcode::kBitcast || opcode == Opcode::kConvert ||
                            opcode == Opcode::kReshape || opcode == Opcode::kTranspose ||
                            (opcode == Opcode::kDynamicSlice && use.operand_index == 0);
      if (!is_moved) return true;
      pending.push_back(&user);
    }
  }
  return false;
}

// Loops over 0, 1, … that all have as many iterations; the index of the counter.
struct SharedCount {
  int64_t counter;
  int64_t trip_count;
};

std::optional<SharedCount> CountOf(const std::vector<Instruction*>& loops) {
  std::optional<SharedCount> shared;
  for (const Instruction* loop : loops) {
    const std::optional<int64_t> index = InductionIndex(*loop);
    if (!index) return std::nullopt;
    const std::optional<CountedLoop> counted = MatchCountedLoop(*loop, *index);
    if (!counted || counted->init != 0 || counted->step != 1 || counted->trip_count < 1)
      return std::nullopt;
    if (shared && (shared->counter != *index || shared->trip_count != counted->trip_count))
      return std::nullopt;
    shared = {*index, counted->trip_count};
  }
  return shared;
}

// The number of the iteration, or how many follow.
bool CountsIterations(const Instruction& value, const SharedCount& count) {
  if (value.opcode() == Opcode::kSubtract && value.operand(0)->IsConstant() &&
      !value.operand(0)->literal().is_elided() &&
      value.operand(0)->literal().GetInt() == count.trip_count - 1)
    return IsParameterElement(*value.operand(1), count.counter);
  return IsParameterElement(value, count.counter);
}

// Adds to `region` where `update` puts what it gets, in all iterations.
bool ExtendRegion(const Instruction& update, const SharedCount& count, StoredRegion& region) {
  const Shape stored = update.operand(1)->shape();
  const int rank = update.shape().rank();
  if (rank != region.shape.rank()) return false;
  region.starts.resize(static_cast<size_t>(rank), 0);
  for (int d = 0; d < rank; ++d) {
    const Instruction& start = *update.operand(2 + d);
    if (start.IsConstant() && !start.literal().is_elided()) {
      const int64_t at = start.literal().GetInt();
      if (at < 0 || at + stored.dim(d) > update.shape().dim(d)) return false;
      region.starts[static_cast<size_t>(d)] += at;
    } else if (stored.dim(d) == 1 && CountsIterations(start, count) &&
               count.trip_count <= update.shape().dim(d)) {
      region.shape = region.shape.WithDim(d, count.trip_count);
    } else {
      return false;
    }
  }
  return true;
}

// Whether `root` hands on as an element what `update`, the only reader of that element, makes of
// it.
bool UpdatesItsElement(const Instruction& update, const Instruction& root, int64_t element) {
  const Instruction& buffer = *update.operand(0);
  if (root.operand(static_cast<int>(element)) != &update || !OnlyUse(update) ||
      !IsParameterElement(buffer, element) || !OnlyUse(buffer))
    return false;
  const Instruction& parameter = *buffer.operand(0);
  return absl::c_all_of(parameter.uses(), [&](const Use& use) {
    return use.user->opcode() == Opcode::kGetTupleElement &&
           (use.user == &buffer || use.user->tuple_index() != element);
  });
}

}  // namespace

bool IsZeroValue(const Instruction& value) {
  if (value.opcode() == Opcode::kBroadcast) return IsZeroValue(*value.operand(0));
  return value.IsConstant() && !value.literal().is_elided() && value.shape().IsArray() &&
         value.literal().IsAll(0);
}

LoopAccumulations::LoopAccumulations(Module& module, Limits limits, PassContext& context)
    : module_(module), context_(context), limits_(limits) {}

const Replication& LoopAccumulations::SameAcross(Replication::Across across,
                                                 Replication::Groups groups) {
  const auto known = absl::c_find_if(sameness_, [&](const std::unique_ptr<Sameness>& each) {
    return each->across == across && each->groups == groups;
  });
  if (known != sameness_.end()) return (*known)->values;
  if (values_ == nullptr) values_ = std::make_unique<Values>(module_);
  sameness_.push_back(std::unique_ptr<Sameness>(
      new Sameness{across, groups, Replication(*values_, across, groups)}));
  return sameness_.back()->values;
}

// Whether `value` is the same on all devices that `reduce` lets talk to each other.
bool LoopAccumulations::IsSame(const Instruction& value, const Instruction& reduce) {
  using Across = Replication::Across;
  const std::optional<GroupMode> mode = GroupModeOf(reduce);
  const ModuleConfig& config = module_.config();
  const bool replicas = config.replica_count != 1 && mode != GroupMode::kCrossPartition;
  const bool partitions = config.num_partitions != 1 && mode != GroupMode::kCrossReplica;
  Replication::Groups groups;
  if (mode && !HasManyDevices(config)) groups = ReplicaGroupsOf(reduce).Flatten();
  // Of replicas with all their partitions; numbers of devices are those of replicas or partitions
  // where there is one of the others.
  Replication::Groups of_replicas, of_partitions;
  if (mode != GroupMode::kFlattened || config.num_partitions == 1) of_replicas = groups;
  if (mode == GroupMode::kCrossPartition || config.replica_count == 1) of_partitions = groups;
  if (mode == GroupMode::kCrossReplicaAndPartition) of_partitions = {};
  return (!replicas || SameAcross(Across::kReplicas, of_replicas).Of(value)) &&
         (!partitions || SameAcross(Across::kPartitions, of_partitions).Of(value));
}

std::vector<MovableReduce> LoopAccumulations::Find(const std::vector<Instruction*>& loops) {
  std::vector<MovableReduce> found;
  const Computation& body = *loops[0]->while_body();
  if (body.root()->opcode() != Opcode::kTuple || body.root()->has_uses()) return found;
  for (Instruction* reduce : body.PostOrder()) {
    const bool is_scatter = reduce->opcode() == Opcode::kReduceScatter;
    if (reduce->opcode() != Opcode::kAllReduce && !(is_scatter && limits_.with_scatter)) continue;
    if (!reduce->shape().IsArray() || reduce->operand_count() != 1 || reduce->has_control_edges() ||
        reduce->is_root())
      continue;
    const std::optional<Opcode> combiner = CombinerOpcode(*reduce->to_apply());
    if (!combiner) continue;
    if (!is_scatter) {
      if (std::optional<StoredRegion> region = FindRegion(*reduce, loops)) {
        found.push_back({reduce, {}, std::move(region)});
        continue;
      }
    }
    if (combiner != Opcode::kAdd || !IsSummable(reduce->shape().element_type())) continue;
    std::vector<Accumulation> sums = FindSums(*reduce, loops);
    if (!sums.empty()) found.push_back({reduce, std::move(sums), std::nullopt});
  }
  return found;
}

std::optional<StoredRegion> LoopAccumulations::FindRegion(
    const Instruction& reduce, const std::vector<Instruction*>& loops) const {
  const Instruction* value = &reduce;
  StoredRegion region = {-1, {}, reduce.shape()};
  const auto user = [&value] { return value->uses()[0].user; };
  while (OnlyUse(*value) && (user()->opcode() == Opcode::kReshape ||
                             (user()->opcode() == Opcode::kConvert && KeepsSums(*user())))) {
    value = user();
    region.shape = value->shape();
  }
  if (!OnlyUse(*value) || user()->opcode() != Opcode::kDynamicUpdateSlice) return std::nullopt;
  const std::optional<SharedCount> count = CountOf(loops);
  if (!count || count->trip_count * reduce.shape().byte_size() > limits_.max_region_bytes)
    return std::nullopt;
  while (OnlyUse(*value) && user()->opcode() == Opcode::kDynamicUpdateSlice) {
    if (value->uses()[0].operand_index != 1 || !ExtendRegion(*user(), *count, region))
      return std::nullopt;
    value = user();
  }
  const Instruction& root = *loops[0]->while_body()->root();
  if (!OnlyUse(*value) || user() != &root) return std::nullopt;
  region.element = value->uses()[0].operand_index;
  if (!UpdatesItsElement(*value, root, region.element) || AnyConditionReads(loops, region.element))
    return std::nullopt;
  return region;
}

// Whether `user` hands on `value`, which `reduce` gives, such that sums of it may be made before.
bool LoopAccumulations::PassesOn(const Instruction& user, const Instruction& value,
                                 const Instruction& reduce) {
  constexpr OpcodeSet kMoves = {Opcode::kReshape, Opcode::kTranspose, Opcode::kSlice,
                                Opcode::kBroadcast};
  const bool is_scatter = reduce.opcode() == Opcode::kReduceScatter;
  const Opcode opcode = user.opcode();
  if (opcode == Opcode::kSelect) {
    const Instruction& pred = *user.operand(0);
    const bool is_one_choice =
        pred.opcode() == Opcode::kBroadcast && pred.operand(0)->shape().IsScalar();
    return (!is_scatter || is_one_choice) && IsChosenOrZero(user, value) && IsSame(pred, reduce);
  }
  if (is_scatter) return false;
  if (opcode == Opcode::kConvert) return KeepsSums(user);
  if (opcode == Opcode::kBitcast)
    return user.shape().element_type() == value.shape().element_type();
  if (opcode == Opcode::kMultiply) {
    const Instruction* factor = BroadcastReduce(user.operand(user.operand(0) == &value ? 1 : 0));
    return factor != nullptr && !reduce.shape().IsScalar() && IsSame(*factor, reduce);
  }
  return kMoves.Has(opcode);
}

std::vector<Accumulation> LoopAccumulations::FindSums(const Instruction& reduce,
                                                      const std::vector<Instruction*>& loops) {
  std::vector<Accumulation> sums;
  std::vector<const Instruction*> pending = {&reduce};
  while (!pending.empty()) {
    const Instruction* value = pending.back();
    pending.pop_back();
    const bool is_scatter = reduce.opcode() == Opcode::kReduceScatter;
    if (value->is_root() || value->has_control_edges() || (is_scatter && !OnlyUse(*value)))
      return {};
    for (Instruction* user : value->users()) {
      if (user->opcode() == Opcode::kAdd) {
        const Instruction& buffer = *user->operand(user->operand(0) == value ? 1 : 0);
        const std::optional<Accumulation> sum = SumOf(user, buffer, reduce, loops);
        if (!sum) return {};
        sums.push_back(*sum);
      } else if (PassesOn(*user, *value, reduce)) {
        pending.push_back(user);
      } else {
        return {};
      }
    }
  }
  return sums;
}

// What `sum` of `buffer` and of what comes from `reduce` does to an element of the state, if
// nothing else.
std::optional<Accumulation> LoopAccumulations::SumOf(Instruction* sum, const Instruction& buffer,
                                                     const Instruction& reduce,
                                                     const std::vector<Instruction*>& loops) {
  const bool is_scatter = reduce.opcode() == Opcode::kReduceScatter;
  const Computation& body = *loops[0]->while_body();
  const auto origin = [&](const Instruction* value, bool may_slice) -> std::optional<Path> {
    Path path;
    std::vector<const Instruction*> transposes;
    // (What is widened here is narrowed after the sum, so that no wrapping is lost.)
    while (value->opcode() != Opcode::kGetTupleElement) {
      const Opcode opcode = value->opcode();
      const bool is_moved = opcode == Opcode::kBitcast || opcode == Opcode::kReshape ||
                            opcode == Opcode::kTranspose ||
                            (opcode == Opcode::kConvert && StaysFloatOrInteger(*value));
      const bool is_part = opcode == Opcode::kDynamicSlice && may_slice && path.part == nullptr;
      if (is_scatter || (!is_moved && !is_part)) return std::nullopt;
      if (is_part) path.part = value;
      if (opcode == Opcode::kTranspose) transposes.push_back(value);
      path.reshapes |= opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
      value = value->operand(0);
    }
    path.element = value->tuple_index();
    if (!IsParameterElement(*value, path.element)) return std::nullopt;
    for (auto t = transposes.rbegin(); t != transposes.rend(); ++t) path.Transpose(**t);
    return path;
  };
  const std::optional<Path> from = origin(&buffer, /*may_slice=*/true);
  if (!from) return std::nullopt;
  Path to = *from;
  to.part = nullptr;
  for (const Instruction* value = sum; to.element >= 0;) {
    if (!OnlyUse(*value)) return std::nullopt;
    const Use& use = value->uses()[0];
    const Opcode opcode = use.user->opcode();
    if (use.user == body.root()) {
      to.element = use.operand_index;
      break;
    }
    const bool is_part =
        opcode == Opcode::kDynamicUpdateSlice && use.operand_index == 1 && to.part == nullptr;
    const bool is_moved = opcode == Opcode::kBitcast || opcode == Opcode::kReshape ||
                          opcode == Opcode::kTranspose ||
                          (opcode == Opcode::kConvert && KeepsSums(*use.user));
    if (is_scatter || (!is_moved && !is_part)) return std::nullopt;
    if (is_part) to.part = use.user;
    if (opcode == Opcode::kTranspose) to.Transpose(*use.user);
    to.reshapes |= opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
    value = use.user;
  }
  // What is moved comes back to where it was.
  const bool is_moved =
      !absl::c_is_sorted(to.order) || (!to.order.empty() && (to.reshapes || to.part != nullptr));
  if (from->element != to.element || is_moved || (from->part == nullptr) != (to.part == nullptr))
    return std::nullopt;
  if (to.part != nullptr) {
    const std::optional<Path> base = origin(to.part->operand(0), /*may_slice=*/false);
    if (!base || base->element != to.element || !base->order.empty() ||
        !StartsAlike(*from, to, reduce))
      return std::nullopt;
  }
  if (AnyConditionReads(loops, to.element) ||
      IsReadBeside(*body.parameter(0), to.element, *sum, to.part))
    return std::nullopt;
  return Accumulation{to.element, sum};
}

// The same start, on all devices.
bool LoopAccumulations::StartsAlike(const Path& from, const Path& to, const Instruction& reduce) {
  if (from.part->operand_count() + 1 != to.part->operand_count()) return false;
  for (int d = 1; d < from.part->operand_count(); ++d) {
    const Instruction& start = *from.part->operand(d);
    if (&start != to.part->operand(d + 1)) return false;
    if (!IsSame(start, reduce)) {
      context_.Missed(*to.part, "where it adds may differ between devices");
      return false;
    }
  }
  return true;
}

}  // namespace hlo
