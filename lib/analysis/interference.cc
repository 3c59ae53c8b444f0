#include "lib/analysis/interference.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {

Interference::Interference(const Values& values, Order order, MayShare may_share)
    : values_(values),
      order_(order),
      may_share_(std::move(may_share)),
      reads_(static_cast<size_t>(values.count())),
      places_(values.module().serial_limit()),
      positions_(values.module().id_limit(), -1) {
  for (ValueId value = 0; value < values.count(); ++value) joined_.push_back(value);
  Place& main = places_[values.module().entry()->serial()];
  main.entered = 0;
  main.left = std::numeric_limits<int>::max();
  int position = 0;
  for (const ProgramStep& step : values.order()) {
    // Arguments are there before anything runs.
    const bool is_argument =
        step.instruction->opcode() == Opcode::kParameter && step.instruction->parent()->is_entry();
    if (!is_argument &&
        (step.kind == ProgramStep::Kind::kVisit || step.kind == ProgramStep::Kind::kBegin))
      positions_[step.instruction] = position++;
    Collect(step);
  }
  const Computation* entry = values.module().entry();
  ReadAll(*entry->root(), {entry, nullptr});
  for (ValueId value = 0; value < values.count(); ++value) is_local_.push_back(FindLocal(value));
}

// ---- readings ----

void Interference::ReadAll(const Instruction& instruction, Point at) {
  for (const ValueId value : values_.Of(instruction)) Read(value, at);
}

void Interference::Collect(const ProgramStep& step) {
  const Instruction& instruction = *step.instruction;
  const Computation* const in = instruction.parent();
  const bool is_loop = instruction.opcode() == Opcode::kWhile;
  switch (step.kind) {
    case ProgramStep::Kind::kVisit: return CollectVisit(instruction);
    case ProgramStep::Kind::kBegin: {
      if (instruction.opcode() == Opcode::kConditional)
        return ReadAll(*instruction.operand(0), {in, &instruction, /*begins=*/true});
      if (!is_loop) return;
      // The initial values are handed to the state.
      const absl::Span<const ValueId> initial = values_.Of(*instruction.operand(0)),
                                      state = values_.Of(instruction);
      for (size_t i = 0; i < state.size() && i < initial.size(); ++i) {
        if (initial[i] != state[i]) Read(initial[i], {in, &instruction, /*begins=*/true});
      }
      return;
    }
    case ProgramStep::Kind::kEnter: {
      const Place& outer = PlaceOf(in);
      const bool is_start = instruction.opcode() == Opcode::kAsyncStart;
      Place& place = places_[step.callee().serial()];
      place.caller = &instruction;
      place.call = step.call;
      place.depth = outer.depth + 1;
      place.async_start = is_start ? &instruction : outer.async_start;
      if (step.again) return;
      place.entered = ++entered_count_;
      return;
    }
    case ProgramStep::Kind::kLeave:
      if (!step.again) places_[step.callee().serial()].left = entered_count_ + 1;
      if (is_loop && step.call == 1) return CollectBodyEnd(instruction);
      if (is_loop || instruction.opcode() == Opcode::kConditional)
        ReadAll(*step.callee().root(), {&step.callee(), nullptr});
      return;
    case ProgramStep::Kind::kEnd: return;
  }
}

void Interference::CollectBodyEnd(const Instruction& loop) {
  const Computation* const body = loop.while_body();
  const absl::Span<const ValueId> state = values_.Of(loop), result = values_.Of(*body->root());
  for (size_t i = 0; i < state.size() && i < result.size(); ++i) {
    // What comes from outside of the loop and stays as it is counts where it is read.
    const bool is_outer = result[i] == state[i] && values_[state[i]].def != &loop;
    if (!is_outer) Read(result[i], {body, nullptr});
  }
}

void Interference::CollectVisit(const Instruction& instruction) {
  const Point here = {instruction.parent(), &instruction};
  const Opcode opcode = instruction.opcode();
  const bool is_update = kAsyncSteps.Has(opcode);
  if (HasTrait(opcode, kAsyncDone) || is_update) {
    ReadAll(*instruction.operand(0), here);
    const Instruction* start = is_update ? AsyncStartOf(instruction) : instruction.operand(0);
    if (start != nullptr && HasTrait(start->opcode(), kAsyncStart)) {
      for (const Instruction* operand : start->operands()) ReadAll(*operand, here);
    }
  }
  if (opcode == Opcode::kParameter || !values_.Reads(instruction)) return;
  for (const Instruction* operand : instruction.operands()) ReadAll(*operand, here);
}

// ---- order ----

const Interference::Place& Interference::PlaceOf(const Computation* computation) const {
  return places_[computation->serial()];
}

Interference::Point Interference::MadeAt(ValueId value) const {
  const Value& v = values_[value];
  return {v.def->parent(), v.def, v.kind == Value::Kind::kLoopState};
}

// Whether a computation is, or is called from within, another.
bool Interference::IsInside(const Computation* computation, const Computation* of) const {
  const int entered = PlaceOf(computation).entered;
  const Place& outer = PlaceOf(of);
  return computation == of || (outer.entered <= entered && entered < outer.left);
}

bool Interference::IsInLoop(const Computation* computation, const Instruction* loop) const {
  return IsInside(computation, loop->while_condition()) ||
         IsInside(computation, loop->while_body());
}

// Without a bit matrix a path is a search, over all that stands between the two. Those that are far
// from each other are mostly asked about one producer, that is needed all along.
bool Interference::DependsOn(const Instruction* user, const Instruction* producer) const {
  constexpr size_t kNear = 64, kMostKnown = 32;
  const Computation& in = *producer->parent();
  const Reachability& paths = reachabilities_.Of(in);
  if (static_cast<size_t>(in.instruction_count()) <= Reachability::kMatrixLimit ||
      paths.PlaceOf(user) <= paths.PlaceOf(producer) + kNear)
    return paths.DependsOn(user, producer);
  const auto known = dependents_.find(producer);
  if (known != dependents_.end()) return known->second.Has(user);
  if (dependents_.size() == kMostKnown) dependents_.clear();
  return dependents_.emplace(producer, paths.DependentsOf(producer)).first->second.Has(user);
}

// Of one computation.
bool Interference::StandsBefore(const Instruction* a, const Instruction* b) const {
  if (order_ == Order::kProgram) return positions_.Get(a) < positions_.Get(b);
  const auto is_argument = [](const Instruction* i) {
    return i->opcode() == Opcode::kParameter && i->parent()->is_entry();
  };
  if (is_argument(a)) return !is_argument(b);
  if (DependsOn(b, a)) return true;
  // Nothing is to come after a result.
  if (!assumes_ || a->is_root() || positions_.Get(a) >= positions_.Get(b)) return false;
  assumed_.emplace_back(a, b);
  return true;
}

bool Interference::IsBefore(Point a, Point b) const {
  // The calls by which one leaves the computation that both are in.
  int call_of_a = -1, call_of_b = -1;
  const auto climb = [this](Point& point, int& call) {
    const Place& place = PlaceOf(point.in);
    call = place.call;
    point = {place.caller->parent(), place.caller, false};
  };
  while (a.in != b.in) {
    const int depth_a = PlaceOf(a.in).depth, depth_b = PlaceOf(b.in).depth;
    if (depth_a >= depth_b) climb(a, call_of_a);
    if (depth_b >= depth_a) climb(b, call_of_b);
  }
  if (a.at == nullptr) return false;
  if (b.at == nullptr) return true;
  if (a.at != b.at) return StandsBefore(a.at, b.at);
  if (a.at->opcode() == Opcode::kConditional && call_of_a >= 0 && call_of_b >= 0) return true;
  const auto rank = [&a](const Point& point, int call) {
    if (call >= 0) return call + 1;
    return point.begins ? 0 : a.at->call_count() + 1;
  };
  return rank(a, call_of_a) < rank(b, call_of_b);
}

// Whether both points are in a loop, and the value comes from before it: what is read in one
// iteration is read in the next one, too.
bool Interference::SpansIterations(ValueId value, const Point& read, const Point& made) const {
  const Value& v = values_[value];
  for (const Computation* c = made.in; PlaceOf(c).caller != nullptr;
       c = PlaceOf(c).caller->parent()) {
    const Instruction* const loop = PlaceOf(c).caller;
    if (loop->opcode() != Opcode::kWhile || loop == v.def) continue;
    if (IsInLoop(read.in, loop) && !IsInLoop(v.def->parent(), loop)) return true;
  }
  return false;
}

// ---- questions ----

bool Interference::FindLocal(ValueId value) const {
  const Value& v = values_[value];
  const Computation* const in = v.def->parent();
  const std::vector<Point>& reads = reads_[static_cast<size_t>(value)];
  return v.kind == Value::Kind::kDefined && PlaceOf(in).async_start == nullptr &&
         std::all_of(reads.begin(), reads.end(), [in](const Point& read) { return read.in == in; });
}

bool Interference::IsOver(ValueId value, ValueId other) const {
  const size_t assumed = assumed_.size();
  const Value& v = values_[value];
  const Point made = MadeAt(other), begun = MadeAt(value);
  // Two sequences run side by side.
  if (PlaceOf(begun.in).async_start != PlaceOf(made.in).async_start) return false;
  // The state of a loop is made anew after each run of the body, and the condition looks at it
  // before.
  const bool is_own_loop = v.kind == Value::Kind::kLoopState && IsInLoop(made.in, v.def);
  if (is_own_loop && !IsInside(made.in, v.def->while_body())) return false;
  if (IsBefore(begun, made) && AreReadsBefore(value, other, made, is_own_loop)) return true;
  assumed_.resize(assumed);
  return false;
}

bool Interference::AreReadsBefore(ValueId value, ValueId other, const Point& made,
                                  bool is_own_loop) const {
  const Value& v = values_[value];
  const std::vector<Point>& reads = reads_[static_cast<size_t>(value)];
  return std::all_of(reads.begin(), reads.end(), [&](const Point& read) {
    return IsGone(read) || (is_own_loop && !IsInside(read.in, v.def->while_body())) ||
           IsReadBefore(value, read, other, made);
  });
}

// A reading by a copy that was joined.
bool Interference::IsGone(const Point& read) const {
  if (read.at == nullptr || read.at->opcode() != Opcode::kCopy) return false;
  const absl::Span<const ValueId> made = values_.Of(*read.at);
  return made.size() == 1 && Resolve(made[0]) != made[0];
}

bool Interference::IsReadBefore(ValueId value, const Point& read, ValueId other,
                                const Point& made) const {
  if (read == made) {
    // Initial values are handed to the state at once.
    return read.begins || MayWriteOver(*read.at, value, values_[other].leaf);
  }
  return IsBefore(read, made) && !SpansIterations(value, read, made);
}

bool Interference::MayWriteOver(const Instruction& instruction, ValueId value, int64_t leaf) const {
  if (may_share_ == nullptr) return false;
  bool found = false;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const absl::Span<const ValueId> of = values_.Of(*instruction.operand(i));
    for (size_t k = 0; k < of.size(); ++k) {
      if (Resolve(of[k]) != value) continue;
      // Every operand that reads the value must allow the overwriting.
      if (!may_share_(instruction, {i, static_cast<int64_t>(k), leaf})) return false;
      found = true;
    }
  }
  return found;
}

// ---- copies that are none ----

void Interference::Join(ValueId copy, ValueId source) {
  const std::vector<Point>& more = reads_[static_cast<size_t>(copy)];
  std::vector<Point>& reads = reads_[static_cast<size_t>(source)];
  reads.insert(reads.end(), more.begin(), more.end());
  joined_[static_cast<size_t>(copy)] = source;
  is_local_[static_cast<size_t>(source)] =
      IsLocal(source) && IsLocal(copy) &&
      values_[source].def->parent() == values_[copy].def->parent();
}

void Interference::Restore(ValueId copy, ValueId source) {
  std::vector<Point>& reads = reads_[static_cast<size_t>(source)];
  reads.resize(reads.size() - reads_[static_cast<size_t>(copy)].size());
  joined_[static_cast<size_t>(copy)] = copy;
  if (!IsLocal(source)) is_local_[static_cast<size_t>(source)] = FindLocal(source);
}

ValueId Interference::Resolve(ValueId value) const {
  while (joined_[static_cast<size_t>(value)] != value) value = joined_[static_cast<size_t>(value)];
  return value;
}

std::string Interference::ToString(const Module& module) {
  const Values values(module);
  const AliasSets sets(values);
  const Interference interference(
      values, Order::kProgram, [](const Instruction& instruction, const InPlacePair& pair) {
        const std::vector<InPlacePair> pairs = InPlacePairs(instruction);
        return std::any_of(pairs.begin(), pairs.end(), [&](const InPlacePair& p) {
          return p.operand == pair.operand && p.operand_leaf == pair.operand_leaf &&
                 p.leaf == pair.leaf;
        });
      });
  std::vector<std::vector<ValueId>> members(static_cast<size_t>(values.count()));
  for (ValueId id = 0; id < values.count(); ++id)
    members[static_cast<size_t>(sets.SetOf(id))].push_back(id);
  std::string text;
  for (const std::vector<ValueId>& set : members) {
    for (size_t i = 0; i < set.size(); ++i) {
      for (size_t j = i + 1; j < set.size(); ++j) {
        const bool meet = interference.Interfere(set[i], set[j]);
        text += fmt::format("{} and {}: {}\n", values.NameOf(set[i]), values.NameOf(set[j]),
                            meet ? "both needed at one time" : "one after the other");
      }
    }
  }
  return text;
}

}  // namespace hlo
