#include "passes/buffers/late_updates.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

class LateOrder {
 public:
  LateOrder(Computation& computation, const Values& values)
      : computation_(computation), values_(values), order_(computation.schedule()) {
    for (size_t i = 0; i < order_.size(); ++i) {
      positions_[order_[i]] = i;
      NoteReader(order_[i]);
    }
  }

  // What makes `result` goes after the last reader of `over`, if all that needs it can wait.
  bool Move(ValueId over, ValueId result) {
    const Value& next = values_[result];
    if (next.kind != Value::Kind::kDefined || next.def->parent() != &computation_) return false;
    Instruction* const update = order_[At(next.def)];
    if (!update->shape().IsArray() || update->is_root() || update->has_control_edges())
      return false;
    const auto it = readers_.find(over);
    if (it == readers_.end()) return false;
    size_t last = 0;
    for (const Instruction* reader : it->second) {
      if (reader != update) last = std::max(last, At(reader));
    }
    const size_t from = At(update);
    const bool can_wait =
        absl::c_all_of(update->uses(), [&](const Use& use) { return At(use.user) > last; });
    if (last <= from || !can_wait) return false;
    std::rotate(order_.begin() + static_cast<int64_t>(from),
                order_.begin() + static_cast<int64_t>(from) + 1,
                order_.begin() + static_cast<int64_t>(last) + 1);
    for (size_t i = from; i <= last; ++i) positions_[order_[i]] = i;
    return true;
  }

  // For each element of the state of a loop whose body it is.
  bool MoveState(const Instruction& loop) {
    const Instruction* const root = computation_.root();
    const absl::Span<const ValueId> state = values_.Of(loop), result = values_.Of(*root);
    bool moved = false;
    for (size_t i = 0; i < state.size() && i < result.size(); ++i) {
      if (values_[state[i]].def != &loop || state[i] == result[i]) continue;
      const Instruction& update = *values_[result[i]].def;
      const bool is_only_result = update.has_one_user() && update.uses()[0].user == root;
      if (is_only_result && Move(state[i], result[i])) moved = true;
    }
    return moved;
  }

  void SetSchedule() { computation_.set_schedule(std::move(order_)); }

 private:
  void NoteReader(Instruction* reader) {
    if (!values_.Reads(*reader) && reader->opcode() != Opcode::kCall) return;
    for (const Instruction* operand : reader->operands()) {
      for (const ValueId value : values_.Of(*operand)) {
        std::vector<Instruction*>& readers = readers_[value];
        if (readers.empty() || readers.back() != reader) readers.push_back(reader);
      }
    }
  }

  size_t At(const Instruction* instruction) const { return positions_.at(instruction); }

  Computation& computation_;
  const Values& values_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, size_t> positions_;        // looked up only
  absl::flat_hash_map<ValueId, std::vector<Instruction*>> readers_;  // looked up only
};

}  // namespace

bool MoveUpdatesLate(const Values& values) {
  bool moved = false;
  for (const ProgramStep& step : values.order()) {
    if (step.kind != ProgramStep::Kind::kEnd || step.instruction->opcode() != Opcode::kWhile)
      continue;
    Computation* const body = step.instruction->while_body();
    if (!body->has_schedule()) continue;
    LateOrder order(*body, values);
    if (!order.MoveState(*step.instruction)) continue;
    order.SetSchedule();
    moved = true;
  }
  return moved;
}

void MoveUpdatesLate(const Values& values, PairsOf pairs_of) {
  absl::flat_hash_map<const Computation*, size_t> known;  // looked up only
  std::vector<LateOrder> orders;
  for (const ProgramStep& step : values.order()) {
    const Instruction& update = *step.instruction;
    if (step.kind != ProgramStep::Kind::kVisit || !update.parent()->has_schedule()) continue;
    for (const InPlacePair& pair : pairs_of(update)) {
      Computation* const computation = update.parent();
      const auto [it, is_new] = known.try_emplace(computation, orders.size());
      if (is_new) orders.emplace_back(*computation, values);
      const ValueId over =
          values.Of(*update.operand(pair.operand))[static_cast<size_t>(pair.operand_leaf)];
      orders[it->second].Move(over, values.Of(update)[static_cast<size_t>(pair.leaf)]);
    }
  }
  for (LateOrder& order : orders) order.SetSchedule();
}

}  // namespace hlo
