#include "lib/ir/instruction.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"
#include "lib/ir/origin_form.h"
#include "lib/support/check.h"

namespace hlo {

Module& Instruction::module() const { return parent_->module(); }

bool Instruction::is_root() const { return parent_ != nullptr && parent_->root() == this; }
bool Instruction::is_used() const { return has_uses() || is_root(); }

// ---- operands ----

void Instruction::LinkOperand(Instruction* producer) {
  const auto index = static_cast<int>(operands_.size());
  operands_.push_back({producer, static_cast<uint32_t>(producer->uses_.size())});
  producer->uses_.push_back({this, index});
}

// Takes use i out of the producer's list; the list's last use moves into the hole and is told so.
void Instruction::UnlinkOperand(size_t i) {
  Instruction* producer = operands_[i].producer;
  if (producer == nullptr) return;
  const uint32_t position = operands_[i].position;
  UseList& uses = producer->uses_;
  const Use moved = uses.back();
  uses[position] = moved;
  uses.pop_back();
  if (position < uses.size())
    moved.user->operands_[static_cast<size_t>(moved.operand_index)].position = position;
  operands_[i].producer = nullptr;
}

std::vector<Instruction*> Instruction::operand_vector() const {
  return std::vector<Instruction*>(operands().begin(), operands().end());
}

std::vector<Shape> Instruction::operand_shapes() const {
  std::vector<Shape> shapes;
  shapes.reserve(operands_.size());
  for (const OperandSlot& slot : operands_) shapes.push_back(slot.producer->shape());
  return shapes;
}

void Instruction::ReplaceOperand(int i, Instruction* producer) {
  const auto at = static_cast<size_t>(i);
  if (operands_[at].producer == producer) return;
  UnlinkOperand(at);
  operands_[at] = {producer, static_cast<uint32_t>(producer->uses_.size())};
  producer->uses_.push_back({this, i});
}

void Instruction::AppendOperand(Instruction* producer) { LinkOperand(producer); }

void Instruction::RemoveOperand(int i) {
  UnlinkOperand(static_cast<size_t>(i));
  operands_.erase(operands_.begin() + i);
  for (size_t k = static_cast<size_t>(i); k < operands_.size(); ++k) {
    operands_[k].producer->uses_[operands_[k].position].operand_index = static_cast<int>(k);
  }
}

// ---- uses ----

std::vector<Instruction*> Instruction::users() const {
  std::vector<Instruction*> result;
  result.reserve(uses_.size());
  for (const Use& use : uses_) result.push_back(use.user);
  std::sort(result.begin(), result.end(),
            [](const Instruction* a, const Instruction* b) { return a->id_ < b->id_; });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool Instruction::has_one_user() const {
  if (uses_.empty()) return false;
  return std::all_of(uses_.begin(), uses_.end(),
                     [this](const Use& use) { return use.user == uses_[0].user; });
}

void Instruction::ReplaceAllUsesWith(Instruction* other) {
  if (other == this) return;
  for (const Use& use : uses_) {
    OperandSlot& slot = use.user->operands_[static_cast<size_t>(use.operand_index)];
    slot = {other, static_cast<uint32_t>(other->uses_.size())};
    other->uses_.push_back(use);
  }
  uses_.clear();
}

// ---- calls ----

std::vector<Computation*> Instruction::calls() const {
  std::vector<Computation*> result;
  for (const CallSlot& slot : calls_) result.push_back(slot.callee);
  return result;
}

void Instruction::UnlinkCalls() {
  for (const CallSlot& slot : calls_) {
    auto& callers = slot.callee->callers_;
    const CallSite moved = callers.back();
    callers[slot.position] = moved;
    callers.pop_back();
    if (slot.position < callers.size()) {
      moved.caller->calls_[static_cast<size_t>(moved.call_index)].position = slot.position;
    }
  }
  calls_.clear();
}

void Instruction::SetCalls(absl::Span<Computation* const> callees) {
  UnlinkCalls();
  if (!callees.empty()) parent_->may_call_ = true;
  for (Computation* callee : callees) {
    const auto index = static_cast<int>(calls_.size());
    calls_.push_back({callee, static_cast<uint32_t>(callee->callers_.size())});
    callee->callers_.push_back({this, index});
  }
}

void Instruction::SetCall(int i, Computation* callee) {
  std::vector<Computation*> all = calls();
  all[static_cast<size_t>(i)] = callee;
  SetCalls(all);
}

// ---- control edges ----

absl::Span<Instruction* const> Instruction::control_predecessors() const {
  if (extras_ == nullptr || !extras_->control) return {};
  return extras_->control->predecessors;
}

absl::Span<Instruction* const> Instruction::control_successors() const {
  if (extras_ == nullptr || !extras_->control) return {};
  return extras_->control->successors;
}

ControlEdges& Instruction::mutable_control() {
  Boxed<ControlEdges>& control = mutable_extras().control;
  return control ? *control : control.emplace();
}

void Instruction::AddControlPredecessor(Instruction* predecessor) {
  auto& predecessors = mutable_control().predecessors;
  auto& successors = predecessor->mutable_control().successors;
  // An edge stands in both lists: the shorter one tells whether there is one.
  const bool known =
      predecessors.size() < successors.size()
          ? std::find(predecessors.begin(), predecessors.end(), predecessor) != predecessors.end()
          : std::find(successors.begin(), successors.end(), this) != successors.end();
  if (known) return;
  predecessors.push_back(predecessor);
  successors.push_back(this);
}

void Instruction::RemoveControlPredecessor(Instruction* predecessor) {
  std::erase(mutable_control().predecessors, predecessor);
  std::erase(predecessor->mutable_control().successors, this);
}

void Instruction::DropControlEdges() {
  if (extras_ == nullptr || !extras_->control) return;
  ControlEdges& edges = *extras_->control;
  while (!edges.predecessors.empty()) RemoveControlPredecessor(edges.predecessors.back());
  while (!edges.successors.empty()) edges.successors.back()->RemoveControlPredecessor(this);
  extras_->control.reset();
}

// ---- extras ----

Extras& Instruction::mutable_extras() {
  if (extras_ == nullptr) extras_ = module().NewExtras();
  return *extras_;
}

const OpMetadata& Instruction::metadata() const {
  static const OpMetadata kNone;
  return extras_ == nullptr ? kNone : extras_->metadata;
}

void Instruction::CopyExtrasFrom(const Instruction& from) {
  loc_ = from.loc_;
  if (from.extras_ == nullptr) return;
  Extras& to = mutable_extras();
  to.metadata = from.extras_->metadata;
  to.frontend_attributes = from.extras_->frontend_attributes;
  if (from.extras_->origin && HasFormOf(shape_, *from.extras_->origin))
    to.origin = from.extras_->origin;
  if (from.extras_->sharding && !to.sharding) to.sharding = from.extras_->sharding;
}

// ---- questions ----

namespace {

// A collective that names a channel meets other programs, and one that constrains its layout was
// asked for as it stands.
template <class A>
bool MustMeet(const A& attrs) {
  if constexpr (requires { attrs.constrain_layout; }) {
    if (attrs.constrain_layout) return true;
  }
  return attrs.channel_id.has_value();
}

// Whether a computation that `computation` reaches has an instruction with an effect of its own.
// Each is looked at once.
bool HasEffectInside(const Computation& computation,
                     absl::flat_hash_set<const Computation*>& seen) {
  if (!seen.insert(&computation).second) return false;
  for (const Instruction* inner : computation.instructions()) {
    if (inner->HasOwnSideEffect()) return true;
    for (int i = 0; i < inner->call_count(); ++i) {
      if (HasEffectInside(*inner->call(i), seen)) return true;
    }
  }
  return false;
}

}  // namespace

bool Instruction::HasOwnSideEffect() const {
  if (HasTrait(opcode_, kSideEffect)) return true;
  if (HasTrait(opcode_, kCollective)) {
    // The halves of a collective in flight belong together; collective-broadcast always meets.
    if (HasTrait(opcode_, kAsyncStart) || HasTrait(opcode_, kAsyncDone)) return true;
    if (opcode_ == Opcode::kCollectiveBroadcast) return true;
    if (attrs_.Is<AllReduceAttrs>()) return MustMeet(attrs<AllReduceAttrs>());
    if (attrs_.Is<AllGatherAttrs>()) return MustMeet(attrs<AllGatherAttrs>());
    if (attrs_.Is<ReduceScatterAttrs>()) return MustMeet(attrs<ReduceScatterAttrs>());
    if (attrs_.Is<AllToAllAttrs>()) return MustMeet(attrs<AllToAllAttrs>());
    if (attrs_.Is<CollectivePermuteAttrs>()) return MustMeet(attrs<CollectivePermuteAttrs>());
    if (attrs_.Is<RaggedAllToAllAttrs>()) return MustMeet(attrs<RaggedAllToAllAttrs>());
  }
  return opcode_ == Opcode::kCustomCall && attrs<CustomCallAttrs>().custom_call_has_side_effect;
}

bool Instruction::HasSideEffect() const {
  if (HasOwnSideEffect()) return true;
  if (calls_.empty()) return false;
  absl::flat_hash_set<const Computation*> seen;
  for (const CallSlot& slot : calls_) {
    if (HasEffectInside(*slot.callee, seen)) return true;
  }
  return false;
}

}  // namespace hlo
