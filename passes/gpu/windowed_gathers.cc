#include "passes/gpu/windowed_gathers.h"

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/device_groups.h"
#include "lib/analysis/device_values.h"
#include "lib/analysis/trip_count.h"
#include "lib/support/decision.h"
#include "passes/gpu/windowed_f8.h"
#include "passes/gpu/windowed_loops.h"
#include "passes/util/carry_more.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr int64_t kMostPlacesTried = 1 << 18;  // places of parts, on all devices in all iterations
constexpr OpcodeSet kPartScales = {Opcode::kConvert, Opcode::kMultiply, Opcode::kDivide};

// A part that the body has in its hands, and where it says that the part lies in the whole.
struct PartAtHand {
  Instruction* part = nullptr;
  Instruction* start = nullptr;
};
struct LoopParts {
  std::vector<PartAtHand> parts;    // of one iteration
  std::vector<Instruction*> sends;  // sends[i] makes of part i the next one
};

// The one start that is no constant, of those from operand `first` on; null: none or several.
Instruction* VaryingStart(const Instruction& access, int first) {
  Instruction* found = nullptr;
  for (int i = first; i < access.operand_count(); ++i) {
    if (access.operand(i)->IsConstant()) continue;
    if (found != nullptr) return nullptr;
    found = access.operand(i);
  }
  return found;
}

// Where the part that `dot` multiplies lies: it is multiplied by such a slice, or the product is
// put there.
Instruction* StartOf(const Instruction& dot) {
  for (const Instruction* operand : dot.operands()) {
    if (operand->opcode() == Opcode::kDynamicSlice) return VaryingStart(*operand, 1);
  }
  for (const Instruction* user : dot.users()) {
    if (user->opcode() == Opcode::kDynamicUpdateSlice && user->operand(1) == &dot)
      return VaryingStart(*user, 2);
  }
  return nullptr;
}

// Of the product of `part`, perhaps scaled on the way.
Instruction* FindStart(const Instruction& part, int depth = 0) {
  for (const Instruction* user : part.users()) {
    Instruction* start = nullptr;
    if (user->opcode() == Opcode::kDot) {
      start = StartOf(*user);
    } else if (depth < 2 && kPartScales.Has(user->opcode())) {
      start = FindStart(*user, depth + 1);
    }
    if (start != nullptr) return start;
  }
  return nullptr;
}

std::optional<LoopParts> FindLoopParts(const Instruction& loop) {
  LoopParts found;
  Instruction* part = loop.while_body()->root()->operand(0);
  for (; IsPlainSend(*part); part = part->operand(0)) found.sends.push_back(part);
  if (!IsParameterElement(*part, 0) || found.sends.empty()) return std::nullopt;
  absl::c_reverse(found.sends);
  for (const Instruction* send : found.sends)
    found.parts.push_back({send->operand(0), FindStart(*send->operand(0))});
  // The first part may be read more than once from the state.
  for (const Instruction* read : loop.while_body()->parameter(0)->users()) {
    if (found.parts[0].start == nullptr && IsParameterElement(*read, 0))
      found.parts[0].start = FindStart(*read);
  }
  for (const PartAtHand& window : found.parts) {
    if (window.start == nullptr) return std::nullopt;
  }
  return found;
}

// Who sends to each device; -1: nobody.
std::vector<int64_t> SenderOf(const Instruction& send, const ModuleConfig& config) {
  const auto& attrs = send.attrs<CollectivePermuteAttrs>();
  const int64_t replicas = config.replica_count, partitions = config.num_partitions;
  std::vector<int64_t> sender(static_cast<size_t>(replicas * partitions), -1);
  // The ids are of partitions, for each replica, or the other way round.
  const int64_t others = attrs.channel_id ? replicas : partitions;
  const int64_t count = attrs.channel_id ? partitions : replicas;
  const auto device = [&](int64_t id, int64_t other) {
    return attrs.channel_id ? other * partitions + id : id * partitions + other;
  };
  for (const auto& [source, target] : attrs.source_target_pairs) {
    if (source < 0 || target < 0 || source >= count || target >= count) continue;
    for (int64_t other = 0; other < others; ++other)
      sender[static_cast<size_t>(device(target, other))] = device(source, other);
  }
  return sender;
}

// Follows the parts of a gather through a loop.
class PartTracker {
 public:
  PartTracker(const LoopParts& windows, const Instruction& gather)
      : config_(gather.module().config()),
        windows_(windows),
        size_(gather.operand(0)->shape().dim(
            static_cast<int>(gather.attrs<AllGatherAttrs>().dimensions.value))),
        group_(static_cast<size_t>(config_.replica_count * config_.num_partitions), -1),
        rank_(group_),
        holds_(group_),
        seen_(group_.size()) {
    const std::vector<std::vector<int64_t>> groups = DeviceGroups(gather);
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t r = 0; r < groups[g].size(); ++r) {
        const auto device = static_cast<size_t>(groups[g][r]);
        if (device >= group_.size()) continue;
        group_[device] = static_cast<int64_t>(g);
        rank_[device] = static_cast<int64_t>(r);
        seen_[device].assign(groups[g].size(), false);
      }
    }
    for (size_t device = 0; device < holds_.size(); ++device)
      holds_[device] = static_cast<int64_t>(device);
    for (const Instruction* send : windows.sends) senders_.push_back(SenderOf(*send, config_));
  }

  // False when some device says of a part that it lies where it does not.
  bool Iterate(LoopCounter counter) {
    for (size_t i = 0; i < windows_.parts.size(); ++i) {
      for (size_t device = 0; device < holds_.size(); ++device) {
        const std::optional<int64_t> start = DeviceValue(
            *windows_.parts[i].start, DeviceOf(static_cast<int64_t>(device), config_), counter);
        if (!start || !MarkSeen(device, *start)) return false;
      }
      std::vector<int64_t> sent(holds_.size(), -1);
      for (size_t device = 0; device < sent.size(); ++device) {
        const int64_t sender = senders_[i][device];
        if (sender >= 0) sent[device] = holds_[static_cast<size_t>(sender)];
      }
      holds_ = std::move(sent);
    }
    return true;
  }

  bool SawAll() const {
    return absl::c_all_of(seen_, [](const std::vector<bool>& parts) {
      return !parts.empty() && !absl::c_linear_search(parts, false);
    });
  }

 private:
  bool MarkSeen(size_t device, int64_t start) {
    if (holds_[device] < 0) return false;
    const auto owner = static_cast<size_t>(holds_[device]);
    if (group_[owner] < 0 || group_[owner] != group_[device] || start != rank_[owner] * size_)
      return false;
    seen_[device][static_cast<size_t>(rank_[owner])] = true;
    return true;
  }

  const ModuleConfig& config_;
  const LoopParts& windows_;
  const int64_t size_;  // of a part
  // By device: its group of the gather, its place in that, whose part it has now, which parts it
  // has had.
  std::vector<int64_t> group_, rank_, holds_;
  std::vector<std::vector<bool>> seen_;
  std::vector<std::vector<int64_t>> senders_;  // by send and device
};

// Whether `loop` has each part of `gather` on each device and knows its place.
Decision HasAllParts(const Instruction& loop, const LoopParts& windows, const Instruction& gather) {
  const ModuleConfig& config = loop.module().config();
  if (HasManyDevices(config)) return No("there are too many devices");
  const std::optional<int64_t> counter = InductionIndex(loop);
  const std::optional<int64_t> trips = TripCount(loop);
  if (!counter || !trips) return No("it is not known how often the loop runs");
  const int64_t places =
      config.replica_count * config.num_partitions * static_cast<int64_t>(windows.parts.size());
  if (places == 0 || *trips > kMostPlacesTried / places)
    return No("there are too many parts to follow");
  const auto at = static_cast<int>(*counter);
  const std::optional<Literal> init = KnownValue(*loop.operand(0)->operand(at));
  std::optional<int64_t> value = init ? init->GetInt(0) : std::optional<int64_t>();
  const Instruction& next = *loop.while_body()->root()->operand(at);
  PartTracker tracker(windows, gather);
  for (int64_t i = 0; i < *trips; ++i) {
    if (!value || !tracker.Iterate({*counter, *value}))
      return No("it is not known that each part lies where the loop takes it to lie");
    value = DeviceValue(next, DeviceId(), LoopCounter{*counter, *value});
  }
  return tracker.SawAll() ? Yes() : No("the loop does not see all parts");
}

// Whether `user` needs `producer`, of its computation.
bool NeedsResult(const Instruction* user, const Instruction* producer) {
  absl::flat_hash_set<const Instruction*> seen = {user};
  std::vector<const Instruction*> stack = {user};
  while (!stack.empty()) {
    const Instruction* const top = stack.back();
    stack.pop_back();
    if (top == producer) return true;
    const auto visit = [&](const Instruction* before) {
      if (seen.insert(before).second) stack.push_back(before);
    };
    for (const Instruction* operand : top->operands()) visit(operand);
    for (const Instruction* before : top->control_predecessors()) visit(before);
  }
  return false;
}

}  // namespace

struct WindowedGathers::Gather {
  Instruction* gather = nullptr;
  std::optional<ScaledF8> scaled;  // of scaled parts
  int64_t dimension() const { return gather->attrs<AllGatherAttrs>().dimensions.value; }
};

WindowedGathers::WindowedGathers(const std::vector<Instruction*>& loops) {
  for (Instruction* loop : loops) {
    if (CanCarryMore(*loop) && loop->operand(0)->opcode() == Opcode::kTuple &&
        loop->operand(0)->operand_count() > 0)
      loops_.push_back({loop, {}, 0, {}});
  }
}

std::optional<WindowedGathers::Gather> WindowedGathers::FindGather(Instruction* operand,
                                                                   const Instruction& parts) {
  Gather found;
  if (operand->opcode() != Opcode::kAllGather || operand->operand_count() != 1 ||
      !operand->shape().IsArray() || operand->shape().has_dynamic_dims() ||
      operand->has_control_edges() || operand->attrs<AllGatherAttrs>().constrain_layout)
    return std::nullopt;
  found.gather = operand;
  if (operand->operand(0) == &parts) return found;
  found.scaled = MatchScaledF8(operand->operand(0));
  if (!found.scaled || found.scaled->f8 != &parts) return std::nullopt;
  return found;
}

absl::StatusOr<bool> WindowedGathers::Keep(Loop& kept, const Gather& gather, PassContext& context) {
  Instruction* const loop = kept.loop;
  const std::optional<LoopParts> windows = FindLoopParts(*loop);
  const Decision decision = windows ? HasAllParts(*loop, *windows, *gather.gather)
                                    : No("it is not known where the parts of the loop lie");
  if (!context.Allowed(*gather.gather, decision)) return false;
  if (!context.MayRewrite()) return false;
  kept.dimension = gather.dimension();
  kept.groups = DeviceGroups(*gather.gather);
  kept.kept_at = loop->shape().element_count_of_tuple();

  Builder outside(loop->parent(), gather.gather);
  const ElementType type = windows->parts[0].part->shape().element_type();
  Instruction* const zeros =
      outside.Broadcast(outside.ScalarConstant(type, 0), gather.gather->shape().dims(), {});
  RETURN_IF_ERROR(outside.status());
  ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop, {zeros}));
  Builder inside(loop->while_body(), gather.gather);
  Instruction* whole = reads[0];
  for (const PartAtHand& window : windows->parts) {
    std::vector<Instruction*> starts(static_cast<size_t>(whole->shape().rank()),
                                     inside.ZeroLike(window.start));
    starts[static_cast<size_t>(kept.dimension)] = window.start;
    whole = inside.DynamicUpdateSlice(whole, window.part, starts);
  }
  loop->while_body()->root()->ReplaceOperand(static_cast<int>(*kept.kept_at), whole);
  RETURN_IF_ERROR(inside.status());
  return true;
}

absl::StatusOr<bool> WindowedGathers::Visit(Instruction* dot, PassContext& context) {
  bool changed = false;
  for (Loop& loop : loops_) {
    if (loop.loop->parent() != dot->parent()) continue;
    for (int side = 0; side < dot->operand_count(); ++side) {
      const std::optional<Gather> gather =
          FindGather(dot->operand(side), *loop.loop->operand(0)->operand(0));
      if (!gather) continue;
      if (NeedsResult(loop.loop, dot)) {
        context.Missed(*dot, "the loop that has the gathered parts needs it");
        continue;
      }
      if (!loop.kept_at) {
        ASSIGN_OR_RETURN(const bool is_kept, Keep(loop, *gather, context));
        if (!is_kept) continue;
        changed = true;
      }
      if (loop.dimension != gather->dimension() || loop.groups != DeviceGroups(*gather->gather)) {
        context.Missed(*gather->gather, "the loop puts its parts together in another way");
        continue;
      }
      if (!changed && !context.MayRewrite()) continue;
      context.Passed(*dot, "`{}` has put together what it reads", loop.loop->name());
      context.Count("gather-kept");
      Builder builder(dot->parent(), gather->gather);
      Instruction* whole = builder.GetTupleElement(loop.loop, *loop.kept_at);
      if (gather->scaled) whole = ScaleF8(builder, whole, *gather->scaled, gather->scaled->scale);
      RETURN_IF_ERROR(builder.status());
      dot->ReplaceOperand(side, whole);
      if (!gather->gather->is_used()) dot->parent()->RemoveUnused(gather->gather);
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
