#include "passes/util/carry_more.h"

#include "passes/util/loop_state.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

std::vector<Instruction*> FirstElements(Builder& builder, Instruction* tuple, int64_t count) {
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < count; ++i) elements.push_back(builder.GetTupleElement(tuple, i));
  return elements;
}

}  // namespace

Shape WideShape(Shape narrow, const std::vector<Instruction*>& more) {
  std::vector<Shape> shapes(narrow.elements().begin(), narrow.elements().end());
  for (const Instruction* value : more) shapes.push_back(value->shape());
  return Shape::Tuple(shapes);
}

void WidenOrigin(const Instruction& old, Instruction* state,
                 const std::vector<Instruction*>& more) {
  const OriginalValue::Node* narrow = OriginOf(old);
  if (narrow == nullptr || !narrow->is_tuple) return;
  OriginalValue::Node wide = *narrow;
  for (const Instruction* value : more) {
    const OriginalValue::Node* origin = OriginOf(*value);
    wide.children.push_back(origin != nullptr ? *origin : UnknownOrigin(value->shape()));
  }
  SetOrigin(state, &wide);
}

void WidenSharding(Instruction* state, Shape wide) {
  if (state->sharding() == nullptr || !state->sharding()->is_tuple) return;
  std::vector<Sharding::Leaf> leaves = state->sharding()->leaves;
  leaves.resize(static_cast<size_t>(LeafCount(wide)), Sharding::Replicated().leaves[0]);
  state->set_sharding(Sharding::Tuple(std::move(leaves)));
}

Instruction* TuplePrefix(Builder& builder, Instruction* tuple, int64_t count) {
  return builder.Tuple(FirstElements(builder, tuple, count));
}

Instruction* TupleWithMore(Builder& builder, Instruction* tuple,
                           const std::vector<Instruction*>& more) {
  std::vector<Instruction*> elements =
      FirstElements(builder, tuple, tuple->shape().element_count_of_tuple());
  elements.insert(elements.end(), more.begin(), more.end());
  return builder.Tuple(elements);
}

bool CanCarryMore(const Instruction& loop) {
  const Instruction& root = *loop.while_body()->root();
  return loop.shape().IsTuple() && loop.while_body() != loop.while_condition() &&
         loop.while_body()->callers().size() == 1 &&
         loop.while_condition()->callers().size() == 1 && root.opcode() == Opcode::kTuple &&
         !root.has_uses() && OnlyElementsRead(*loop.while_body()->parameter(0)) &&
         OnlyElementsRead(*loop.while_condition()->parameter(0));
}

absl::StatusOr<std::vector<Instruction*>> CarryMore(Instruction* loop,
                                                    const std::vector<Instruction*>& values) {
  const Shape narrow = loop->shape();
  const Shape wide = WideShape(narrow, values);
  const int64_t old_count = narrow.element_count_of_tuple();
  Builder outside(loop);
  if (!OnlyElementsRead(*loop)) {
    std::vector<Use> uses(loop->uses().begin(), loop->uses().end());
    std::erase_if(uses,
                  [](const Use& use) { return use.user->opcode() == Opcode::kGetTupleElement; });
    Instruction* before = TuplePrefix(outside, loop, old_count);
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, before);
    if (loop->is_root()) loop->parent()->set_root(before);
  }
  std::vector<Instruction*> init;
  for (int64_t i = 0; i < old_count; ++i) init.push_back(ReadElement(outside, loop->operand(0), i));
  init.insert(init.end(), values.begin(), values.end());
  loop->ReplaceOperand(0, outside.Tuple(init));
  RETURN_IF_ERROR(outside.status());

  Computation& body = *loop->while_body();
  Instruction* root = body.root();
  for (Instruction* state :
       {loop, loop->while_condition()->parameter(0), body.parameter(0), root}) {
    state->set_shape(wide);
    WidenSharding(state, wide);
    WidenOrigin(*state, state, values);
  }
  std::vector<Instruction*> reads;
  Builder inside(&body);
  for (size_t k = 0; k < values.size(); ++k) {
    reads.push_back(inside.GetTupleElement(body.parameter(0), old_count + static_cast<int64_t>(k)));
    root->AppendOperand(reads.back());
  }
  RETURN_IF_ERROR(inside.status());
  return reads;
}

}  // namespace hlo
