#include "passes/sharding/propagator.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ir/one_sharding.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "passes/util/batched_call.h"

namespace hlo {
namespace {

// What takes part in partitioning, elementwise operations aside.
constexpr OpcodeSet kSplittable = {
    Opcode::kAllReduce,   Opcode::kBroadcast,           Opcode::kCollectivePermute,
    Opcode::kConcatenate, Opcode::kConditional,         Opcode::kConvolution,
    Opcode::kDot,         Opcode::kDynamicSlice,        Opcode::kDynamicUpdateSlice,
    Opcode::kGather,      Opcode::kGetTupleElement,     Opcode::kInfeed,
    Opcode::kIota,        Opcode::kOptimizationBarrier, Opcode::kPad,
    Opcode::kReduce,      Opcode::kReduceScatter,       Opcode::kReduceWindow,
    Opcode::kReshape,     Opcode::kRngBitGenerator,     Opcode::kScan,
    Opcode::kScatter,     Opcode::kSelectAndScatter,    Opcode::kSlice,
    Opcode::kSort,        Opcode::kTranspose,           Opcode::kTuple,
    Opcode::kWhile};
// The elements of these results are made together: a manual operand makes all of them manual.
constexpr OpcodeSet kManualTogether = {Opcode::kReduce, Opcode::kScan, Opcode::kSort,
                                       Opcode::kReduceWindow, Opcode::kCustomCall};

bool HasNoMoreThanWhole(const Instruction& instruction) {
  return instruction.sharding() == nullptr || AllWhole(*instruction.sharding());
}

TiledSharding ManualLike(const Sharding& sharding) {
  TiledSharding manual;
  manual.kind = TiledSharding::Kind::kManual;
  manual.metadata = LeafAt(sharding, 0).metadata;
  return manual;
}

}  // namespace

std::vector<Instruction*> RelatedInstructions(Instruction& instruction,
                                              const ShardedCallers& callers) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kParameter) {
    Instruction* argument = ArgumentOf(instruction, callers);
    if (argument == nullptr) return {};
    return {&instruction, argument};
  }
  if (!kProgramCallers.Has(opcode)) return {};
  std::vector<Instruction*> related = DividedLike(instruction);
  if (opcode == Opcode::kCall) related.push_back(instruction.to_apply()->root());
  related.insert(related.begin(), &instruction);
  return related;
}

Propagator::Propagator(Module& module, PropagationLimits limits, const ShardedCallers& callers,
                       const ShardingAnnotations& annotations)
    : limits_(limits),
      context_{limits.is_spmd, 0, &callers},
      callers_(callers),
      annotations_(annotations),
      entry_root_(module.entry()->root()),
      body_of_(module.serial_limit()),
      is_fixed_(module.id_limit()),
      is_tied_(module.id_limit()) {
  for (Computation* computation : module.computations()) {
    body_of_[computation->serial()] = bodies_.size();
    bodies_.push_back({computation, computation->PostOrder()});
  }
}

void Propagator::RunToFixPoint(int level) {
  context_.level = level;
  for (std::vector<bool>* seen : {&seen_by_group_, &seen_forward_, &seen_backward_})
    seen->assign(is_fixed_.size(), false);
  for (Body& body : bodies_) body.is_stale = true;
  const auto is_stale = [](const Body& body) { return body.is_stale; };
  while (absl::c_any_of(bodies_, is_stale)) {
    for (Body& body : bodies_) {
      if (body.is_stale) Visit(body);
    }
  }
}

void Propagator::Visit(Body& body) {
  body.is_stale = false;
  FromGroups(body);
  for (Instruction* instruction : body.order) Forward(*instruction);
  for (auto at = body.order.rbegin(); at != body.order.rend(); ++at) Backward(**at);
}

void Propagator::FromGroups(const Body& body) {
  for (Instruction* instruction : body.order) {
    if (seen_by_group_[instruction->id()]) continue;
    const std::vector<Instruction*>* group = annotations_.GroupOf(*instruction);
    if (group == nullptr) continue;
    if (!IsFixed(*instruction)) {
      seen_by_group_[instruction->id()] = true;
      if (ImproveFromGroup(*instruction, *group)) Changed(*instruction);
      continue;
    }
    const DimVec* open = annotations_.OpenDims(*instruction);
    if (open == nullptr || !context_.may_combine() || !MayRefine(*instruction)) continue;
    if (RefineFromGroup(*instruction, *open, *group)) {
      Refined(*instruction, nullptr);
      seen_by_group_[instruction->id()] = true;
    }
  }
}

void Propagator::Forward(Instruction& instruction) {
  if (seen_forward_[instruction.id()]) return;
  if (!IsFixed(instruction)) {
    seen_forward_[instruction.id()] = true;
    if (!ImproveForward(instruction)) return;
    ++forward_count_;
    return Changed(instruction);
  }
  const DimVec* open = annotations_.OpenDims(instruction);
  if (open == nullptr || !context_.may_combine() || !MayRefine(instruction)) return;
  Instruction* conversion;
  if (!RefineFromOperand(instruction, *open, conversion)) return;
  ++forward_count_;
  Refined(instruction, conversion);
  seen_forward_[instruction.id()] = true;
}

void Propagator::Backward(Instruction& instruction) {
  // A conversion is looked at together with the annotation before it.
  if ((IsCustomCall(instruction, kToManual) || IsCustomCall(instruction, kToAutomatic)) &&
      !seen_backward_[instruction.id()])
    seen_backward_[instruction.operand(0)->id()] = false;
  if (seen_backward_[instruction.id()]) return;
  if (!IsFixed(instruction)) {
    seen_backward_[instruction.id()] = true;
    if (!ImproveBackward(instruction)) return;
    ++backward_count_;
    return Changed(instruction);
  }
  const DimVec* open = annotations_.OpenDims(instruction);
  if (open == nullptr || !context_.may_combine() || !MayRefine(instruction)) return;
  Instruction* conversion;
  if (!RefineFromUsers(instruction, *open, context_, conversion)) return;
  ++backward_count_;
  Refined(instruction, conversion);
  seen_backward_[instruction.id()] = true;
  if (conversion != nullptr) seen_backward_[conversion->id()] = true;
}

std::vector<Instruction*> Propagator::Sharers(Instruction& instruction) const {
  std::vector<Instruction*> sharers = {&instruction};
  const auto add = [&](Instruction& caller) {
    for (Instruction* other : RelatedInstructions(caller, callers_)) {
      if (!absl::c_linear_search(sharers, other)) sharers.push_back(other);
    }
  };
  for (size_t i = 0; i < sharers.size(); ++i) {
    Instruction& sharer = *sharers[i];
    if (kProgramCallers.Has(sharer.opcode())) add(sharer);
    Instruction* caller = callers_.Of(*sharer.parent());
    if (caller == nullptr) continue;
    const bool is_handed =
        sharer.opcode() == Opcode::kParameter && caller->opcode() == Opcode::kWhile;
    if (sharer.is_root() || is_handed) add(*caller);
  }
  return sharers;
}

bool Propagator::MayShare(Instruction& instruction, const DimVec& open) const {
  return absl::c_all_of(Sharers(instruction), [&](const Instruction* other) {
    const DimVec* dims = annotations_.OpenDims(*other);
    return other == &instruction || is_tied_[other->id()] || (dims != nullptr && *dims == open);
  });
}

bool Propagator::MayRefine(Instruction& annotation) const {
  const DimVec& open = *annotations_.OpenDims(annotation);
  if (!MayShare(annotation, open)) return false;
  if (!annotation.has_one_user()) return true;
  Instruction& user = *annotation.uses()[0].user;
  const bool is_conversion = IsCustomCall(user, kToManual) || IsCustomCall(user, kToAutomatic);
  return !is_conversion || MayShare(user, open);
}

void Propagator::Refined(Instruction& annotation, Instruction* after) {
  Wake(annotation, after);
  Instruction& last = after == nullptr ? annotation : *after;
  for (Instruction* other : Sharers(last)) {
    if (other == &last) continue;
    other->set_sharding(*last.sharding());
    Wake(*other);
  }
}

bool Propagator::MayBeSplit(const Instruction& instruction, bool is_forward) const {
  const Computation& computation = *instruction.parent();
  const bool has_caller = callers_.Of(computation) != nullptr;
  if (computation.root() == &instruction && !has_caller &&
      !(&instruction == entry_root_ && is_forward && limits_.to_output))
    return false;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kRng) return limits_.is_spmd;
  if (IsElementwise(instruction)) return true;
  if (opcode == Opcode::kParameter) return has_caller || (!is_forward && limits_.to_parameters);
  if (opcode == Opcode::kReverse) return limits_.is_spmd;
  if (opcode == Opcode::kCustomCall)
    return limits_.is_spmd && (IsPassThroughCall(instruction) || BatchDimsOfCall(instruction) > 0);
  return kSplittable.Has(opcode);
}

bool Propagator::ImproveFromGroup(Instruction& instruction,
                                  const std::vector<Instruction*>& group) {
  if (!PassesAt(instruction, context_.level) || IsManual(instruction) ||
      IsCustomCall(instruction, kBarrierTo))
    return false;
  for (const Instruction* member : group) {
    if (member == &instruction || !IsManual(*member) || !HasNoMoreThanWhole(instruction)) continue;
    instruction.set_sharding(*member->sharding());
    return true;
  }
  bool changed = false;
  for (const Instruction* member : group) {
    if (member == &instruction || IsCustomCall(*member, kBarrierFrom) ||
        member->sharding() == nullptr)
      continue;
    changed |= Improve(instruction, *member->sharding(), context_.Keeping());
  }
  return changed;
}

bool Propagator::ImproveForward(Instruction& instruction) {
  if (!PassesAt(instruction, context_.level) || IsManual(instruction)) return false;
  if (HasNoMoreThanWhole(instruction) &&
      (!instruction.shape().IsTuple() || kManualTogether.Has(instruction.opcode()))) {
    for (const Instruction* operand : instruction.operands()) {
      if (!IsManual(*operand)) continue;
      const bool cuts = instruction.opcode() == Opcode::kConcatenate ||
                        instruction.opcode() == Opcode::kDynamicSlice;
      if (IsCustomCall(instruction, kToAutomatic) || (context_.level == 0 && cuts)) return false;
      instruction.set_sharding(Uniform(instruction.shape(), ManualLike(*operand->sharding())));
      return true;
    }
  }
  if (MayBeSplit(instruction, /*is_forward=*/true))
    return ImproveFromOperands(instruction, context_);
  // What cannot be split is at least known to be whole everywhere.
  if (instruction.shape().IsTuple() || instruction.is_root() || instruction.HasSideEffect())
    return false;
  for (const Instruction* operand : instruction.operands()) {
    const Sharding* sharding = operand->sharding();
    if (sharding != nullptr && AllReplicated(*sharding))
      return Improve(instruction, LeafAt(*sharding, 0), context_.Keeping());
  }
  return false;
}

bool Propagator::TakeManualFromUsers(Instruction& instruction) {
  for (const Instruction* user : instruction.users()) {
    if (user->sharding() == nullptr || IsCustomCall(*user, kToManual)) continue;
    if (instruction.shape().IsArray() && AllManual(*user->sharding())) {
      instruction.set_sharding(Sharding::Of(ManualLike(*user->sharding())));
      return true;
    }
    // One element of several does not make a tuple manual.
    if (user->opcode() == Opcode::kGetTupleElement && instruction.sharding() != nullptr) continue;
    std::optional<Sharding> wish = ShardingFromUser(instruction, *user, context_);
    if (!wish.has_value() || !AllManual(*wish)) continue;
    instruction.set_sharding(*std::move(wish));
    return true;
  }
  return false;
}

// As Improve by ShardingFromUser; elements of wide tuples are looked at one by one.
bool Propagator::ImproveFromUser(Instruction& instruction, const Instruction& user) {
  if (user.opcode() != Opcode::kGetTupleElement || instruction.sharding() == nullptr) {
    std::optional<Sharding> wish = ShardingFromUser(instruction, user, context_);
    if (wish.has_value() && IsCustomCall(instruction, kBarrierTo))
      wish = Uniform(instruction.shape(), TiledSharding());
    return wish.has_value() && Improve(instruction, *wish, context_.Keeping());
  }
  if (!IsSpread(user)) return false;
  const int64_t first = FirstLeafOf(instruction.shape(), user.tuple_index());
  bool changed = false;
  for (int64_t i = 0; i < LeafCount(user.shape()); ++i) {
    const auto at = static_cast<size_t>(first + i);
    if (SameTiles(LeafAt(*user.sharding(), static_cast<size_t>(i)),
                  LeafAt(*instruction.sharding(), at)))
      continue;
    std::optional<TiledSharding> better = Improved(
        LeafAt(*user.sharding(), static_cast<size_t>(i)), &LeafAt(*instruction.sharding(), at),
        instruction.shape(), {context_.may_combine(), /*may_reshard=*/true});
    if (!better.has_value()) continue;
    instruction.mutable_extras().sharding->leaves[at] = *std::move(better);
    changed = true;
  }
  return changed;
}

bool Propagator::ImproveBackward(Instruction& instruction) {
  if ((context_.level < 2 && instruction.opcode() == Opcode::kBroadcast) || IsManual(instruction))
    return false;
  if (HasNoMoreThanWhole(instruction) && TakeManualFromUsers(instruction)) return true;
  if (!MayBeSplit(instruction, /*is_forward=*/false)) return false;
  bool changed = false;
  for (const Instruction* user : instruction.users()) {
    // Every device needs the whole state of a generator.
    if (user->opcode() == Opcode::kRngBitGenerator) {
      const Sharding* sharding = instruction.sharding();
      if (sharding != nullptr && HasManualGroup(LeafAt(*sharding, 0))) return changed;
      Sharding whole = Uniform(instruction.shape(), TiledSharding());
      if (sharding != nullptr && SameSharding(whole, *sharding)) return changed;
      instruction.set_sharding(std::move(whole));
      return true;
    }
    changed |= ImproveFromUser(instruction, *user);
  }
  return changed;
}

void Propagator::WakeOne(std::vector<bool>& seen, const Instruction& instruction) {
  seen[instruction.id()] = false;
  bodies_[body_of_[instruction.parent()->serial()]].is_stale = true;
}

void Propagator::Wake(const Instruction& instruction, const Instruction* after) {
  for (const Instruction* operand : instruction.operands()) WakeOne(seen_backward_, *operand);
  for (const Use& use : (after == nullptr ? instruction : *after).uses()) {
    WakeOne(seen_forward_, *use.user);
    for (const Computation* callee : use.user->calls()) {
      for (const Instruction* parameter : callee->parameters()) WakeOne(seen_forward_, *parameter);
    }
  }
  const std::vector<Instruction*>* group = annotations_.GroupOf(instruction);
  if (group == nullptr) return;
  for (const Instruction* member : *group) {
    if (member != &instruction) WakeOne(seen_by_group_, *member);
  }
}

void Propagator::Changed(Instruction& instruction) {
  std::vector<Instruction*> changed;
  Spread(instruction, changed);
  Wake(instruction);
  for (const Instruction* other : changed) Wake(*other);
}

void Propagator::SpreadAmong(Instruction& related_to, Instruction& source,
                             std::vector<Instruction*>& changed) {
  const std::vector<Instruction*> related = RelatedInstructions(related_to, callers_);
  if (!absl::c_linear_search(related, &source)) return;
  for (Instruction* other : related) {
    if (IsFixed(*other) ||
        (other->sharding() != nullptr && SameSharding(*other->sharding(), *source.sharding())))
      continue;
    other->set_sharding(*source.sharding());
    changed.push_back(other);
    Spread(*other, changed);
  }
}

void Propagator::Spread(Instruction& instruction, std::vector<Instruction*>& changed) {
  if (kProgramCallers.Has(instruction.opcode())) SpreadAmong(instruction, instruction, changed);
  const bool is_parameter = instruction.opcode() == Opcode::kParameter;
  if (!is_parameter && !instruction.is_root()) return;
  Instruction* caller = callers_.Of(*instruction.parent());
  if (caller == nullptr) return;
  SpreadAmong(*caller, instruction, changed);
  if (is_parameter && caller->opcode() != Opcode::kWhile)
    SpreadAmong(instruction, instruction, changed);
}

}  // namespace hlo
