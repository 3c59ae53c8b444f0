#include "passes/buffers/late_updates.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

class BodyOrder {
 public:
  BodyOrder(Computation& body, const Values& values)
      : body_(body), values_(values), order_(body.schedule()) {
    for (size_t i = 0; i < order_.size(); ++i) {
      positions_[order_[i]] = i;
      NoteReader(order_[i]);
    }
  }

  bool Move(const Instruction& loop) {
    const absl::Span<const ValueId> state = values_.Of(loop), result = values_.Of(*body_.root());
    bool moved = false;
    for (size_t i = 0; i < state.size() && i < result.size(); ++i) {
      if (values_[state[i]].def == &loop && state[i] != result[i] && MoveOne(state[i], result[i]))
        moved = true;
    }
    if (moved) body_.set_schedule(order_);
    return moved;
  }

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

  bool MoveOne(ValueId state, ValueId result) {
    const Value& next = values_[result];
    if (next.kind != Value::Kind::kDefined || next.def->parent() != &body_) return false;
    Instruction* const update = order_[At(next.def)];
    if (!update->shape().IsArray() || update->has_control_edges() || !update->has_one_user() ||
        update->uses()[0].user != body_.root())
      return false;
    const auto it = readers_.find(state);
    if (it == readers_.end()) return false;
    size_t last = 0;
    for (const Instruction* reader : it->second) {
      if (reader != update) last = std::max(last, At(reader));
    }
    const size_t from = At(update);
    if (last <= from || last > At(body_.root())) return false;
    std::rotate(order_.begin() + static_cast<int64_t>(from),
                order_.begin() + static_cast<int64_t>(from) + 1,
                order_.begin() + static_cast<int64_t>(last) + 1);
    for (size_t i = from; i <= last; ++i) positions_[order_[i]] = i;
    return true;
  }

  Computation& body_;
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
    if (body->has_schedule() && BodyOrder(*body, values).Move(*step.instruction)) moved = true;
  }
  return moved;
}

}  // namespace hlo
