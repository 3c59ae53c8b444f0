#include "passes/control_flow/widen_loop.h"

#include "passes/control_flow/call_inliner.h"
#include "passes/util/loop_state.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

std::vector<Instruction*> FirstElements(Builder& builder, Instruction* tuple, int64_t count) {
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < count; ++i) elements.push_back(builder.GetTupleElement(tuple, i));
  return elements;
}

Shape WideShape(Shape narrow, const std::vector<Instruction*>& more) {
  std::vector<Shape> shapes(narrow.elements().begin(), narrow.elements().end());
  for (const Instruction* value : more) shapes.push_back(value->shape());
  return Shape::Tuple(shapes);
}

// What was said of the narrow state `old` holds for the wide one; `more` are the values of its
// other elements, of whose shardings nobody has said anything.
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
  state->mutable_extras().sharding = Sharding::Tuple(std::move(leaves));
}

// An empty computation `wide.NAME` in the place of `narrow`, with its parameter.
Computation* WideComputation(const Computation& narrow, Shape wide, Computation* caller) {
  Module& module = narrow.module();
  Computation* computation = module.AddComputation(fmt::format("wide.{}", narrow.name()));
  computation->set_execution_thread(narrow.execution_thread());
  computation->set_loc(narrow.loc());
  module.MoveToFront(computation, caller);
  const Instruction& old = *narrow.parameter(0);
  Instruction* parameter = computation->AddParameter(0, wide, fmt::format("wide.{}", old.name()));
  parameter->CopyExtrasFrom(old);
  SetOrigin(parameter, nullptr);
  WidenSharding(parameter, wide);
  return computation;
}

absl::StatusOr<Computation*> WidenCondition(Computation* narrow, Shape narrow_shape, Shape wide,
                                            Computation* caller) {
  Computation* computation = WideComputation(*narrow, wide, caller);
  Builder builder(computation);
  Instruction* state =
      TuplePrefix(builder, computation->parameter(0), narrow_shape.element_count_of_tuple());
  Instruction* call = builder.Call({state}, narrow);
  RETURN_IF_ERROR(builder.status());
  computation->set_root(call);
  InlineBody(call);
  return computation;
}

absl::StatusOr<Computation*> WidenBody(Computation* narrow, Shape narrow_shape, Shape wide,
                                       Computation* caller, WidenedLoop& result) {
  Computation* computation = WideComputation(*narrow, wide, caller);
  Builder builder(computation);
  Instruction* parameter = computation->parameter(0);
  const int64_t old_count = narrow_shape.element_count_of_tuple();
  Instruction* call = builder.Call({TuplePrefix(builder, parameter, old_count)}, narrow);
  std::vector<Instruction*> through;
  for (int64_t i = old_count; i < wide.element_count_of_tuple(); ++i) {
    through.push_back(builder.GetTupleElement(parameter, i));
    RETURN_IF_ERROR(builder.status());
    computation->module().Rename(through.back(),
                                 fmt::format("{}.through.{}", computation->name(), i - old_count));
  }
  Instruction* root = TupleWithMore(builder, call, through);
  RETURN_IF_ERROR(builder.status());
  computation->set_root(root);
  if (const Sharding* sharding = narrow->root()->sharding(); sharding != nullptr) {
    root->mutable_extras().sharding = *sharding;
    WidenSharding(root, wide);
  }
  InlineBody(call, {.copies = &result.body_copies});
  for (int64_t i = old_count; i < wide.element_count_of_tuple(); ++i) {
    result.added.push_back(builder.GetTupleElement(parameter, i));
    RETURN_IF_ERROR(builder.status());
    computation->module().Rename(result.added.back(),
                                 fmt::format("{}.in.{}", computation->name(), i - old_count));
  }
  return computation;
}

// Puts `loop` in the place of `old`, whose result is the first elements of its own.
absl::Status ReplaceLoop(Instruction* old, Instruction* loop,
                         const std::vector<Instruction*>& added) {
  loop->CopyExtrasFrom(*old);
  WidenOrigin(*old, loop, added);
  if (!old->backend_config().empty())
    loop->mutable_extras().backend_config = std::string(old->backend_config());
  WidenSharding(loop, loop->shape());
  Builder builder(old->parent());
  builder.set_origin(old);
  Instruction* result = TuplePrefix(builder, loop, old->shape().element_count_of_tuple());
  RETURN_IF_ERROR(builder.status());
  old->ReplaceAllUsesWith(result);
  if (old->is_root()) old->parent()->set_root(result);
  const std::vector<Instruction*> before(old->control_predecessors().begin(),
                                         old->control_predecessors().end());
  const std::vector<Instruction*> after(old->control_successors().begin(),
                                        old->control_successors().end());
  old->DropControlEdges();
  for (Instruction* predecessor : before) loop->AddControlPredecessor(predecessor);
  for (Instruction* successor : after) successor->AddControlPredecessor(loop);
  old->parent()->Remove(old);
  return absl::OkStatus();
}

}  // namespace

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

absl::StatusOr<WidenedLoop> WidenLoop(Instruction* loop, const std::vector<Instruction*>& values) {
  const Shape narrow = loop->shape();
  const Shape wide = WideShape(narrow, values);
  WidenedLoop result;
  ASSIGN_OR_RETURN(Computation * condition,
                   WidenCondition(loop->while_condition(), narrow, wide, loop->parent()));
  ASSIGN_OR_RETURN(Computation * body,
                   WidenBody(loop->while_body(), narrow, wide, loop->parent(), result));
  Builder builder(loop->parent());
  builder.set_origin(loop);
  Instruction* init = TupleWithMore(builder, loop->operand(0), values);
  result.loop = builder.While(init, condition, body);
  RETURN_IF_ERROR(builder.status());
  RETURN_IF_ERROR(ReplaceLoop(loop, result.loop, values));
  return result;
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
  Builder outside(loop->parent());
  outside.set_origin(loop);
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
