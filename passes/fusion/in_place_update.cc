#include "passes/fusion/in_place_update.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/computation.h"
#include "passes/fusion/fusion_questions.h"

namespace hlo {
namespace {

// Whether `consumer` does more with what `producer` gives than elementwise operations: then it
// reads elements of the buffer after it has written others.
bool MovesWhatItReads(const Instruction& producer, const Instruction& consumer,
                      const Instruction& update) {
  if (!consumer.IsFusion()) return false;
  std::vector<const Instruction*> stack;
  absl::flat_hash_set<const Instruction*> reached;
  for (int i = 0; i < consumer.operand_count(); ++i) {
    if (consumer.operand(i) == &producer)
      stack.push_back(consumer.fused_computation()->parameter(i));
  }
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    for (const Use& use : top->uses()) {
      if (use.user == &update || !reached.insert(use.user).second) continue;
      if (!IsElementwiseOrConstant(*use.user) && use.user->opcode() != Opcode::kBitcast)
        return true;
      stack.push_back(use.user);
    }
  }
  return false;
}

// slice or dynamic-slice of exactly the elements that are written.
bool ReadsWhatIsUpdated(const Instruction& producer, const Instruction& consumer,
                        const Instruction& update) {
  if (!SameDimensions(producer.shape(), update.operand(1)->shape())) return false;
  const auto outside = [&](const Instruction* x) -> const Instruction* {
    if (!consumer.IsFusion() || x->opcode() != Opcode::kParameter) return x;
    return consumer.operand(static_cast<int>(x->parameter_number()));
  };
  for (int d = 0; d < producer.shape().rank(); ++d) {
    const Instruction* start = outside(update.operand(2 + d));
    if (producer.opcode() == Opcode::kDynamicSlice) {
      const Instruction* other = producer.operand(1 + d);
      const bool same_constant =
          start->IsConstant() && other->IsConstant() && start->literal() == other->literal();
      if (start != other && !same_constant) return false;
    } else if (producer.opcode() == Opcode::kSlice) {
      const SliceRange& range = producer.attrs<SliceAttrs>().slice[static_cast<size_t>(d)];
      if (range.stride != 1 || !start->IsConstant() || start->literal().is_elided() ||
          start->literal().GetInt() != range.start)
        return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

Decision KeepsUpdateInPlace(const Instruction& producer, const Instruction& consumer) {
  const Instruction* update =
      consumer.IsFusion() ? consumer.fused_computation()->root() : &consumer;
  if (update->opcode() != Opcode::kDynamicUpdateSlice) return Yes();
  const Instruction* buffer = update->operand(0);
  if (consumer.IsFusion()) {
    if (buffer->opcode() != Opcode::kParameter) return Yes();
    buffer = consumer.operand(static_cast<int>(buffer->parameter_number()));
  }
  const auto uses =
      absl::c_count_if(consumer.operands(), [&](const Instruction* x) { return x == buffer; });
  if (uses > 1) return No("`{}` reads what it updates", consumer.name());
  const bool reads_buffer =
      &producer == buffer ||
      absl::c_any_of(producer.operands(), [&](const Instruction* x) { return x == buffer; });
  if (!reads_buffer) return Yes();
  const bool elementwise =
      IsElementwiseOrConstant(producer) || producer.opcode() == Opcode::kBitcast;
  if (elementwise) {
    if (!consumer.IsFusion()) return Yes();
    for (const Instruction* inner : consumer.fused_computation()->instructions()) {
      if (inner != update && !IsElementwiseOrConstant(*inner) &&
          inner->opcode() != Opcode::kParameter && inner->opcode() != Opcode::kBitcast)
        return No("`{}` moves elements besides updating", consumer.name());
    }
    return Yes();
  }
  if (&producer == buffer) return No("`{}` would not update in place", consumer.name());
  if (MovesWhatItReads(producer, consumer, *update))
    return No("`{}` moves what it reads before it updates", consumer.name());
  return ReadsWhatIsUpdated(producer, consumer, *update)
             ? Yes()
             : No("it reads other places than `{}` updates", consumer.name());
}

}  // namespace hlo
