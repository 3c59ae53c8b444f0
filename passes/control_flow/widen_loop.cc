#include "passes/control_flow/widen_loop.h"

#include "lib/ir/control_edges.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

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
    root->set_sharding(*sharding);
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
  // (What reads an element of the old loop says what is said of the new one's.)
  Builder builder(old->parent());
  Instruction* result = TuplePrefix(builder, loop, old->shape().element_count_of_tuple());
  RETURN_IF_ERROR(builder.status());
  result->set_loc(old->loc());
  old->ReplaceAllUsesWith(result);
  if (old->is_root()) old->parent()->set_root(result);
  MoveControlEdges(old, loop);
  old->parent()->Remove(old);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WidenedLoop> WidenLoop(Instruction* loop, const std::vector<Instruction*>& values) {
  const Shape narrow = loop->shape();
  const Shape wide = WideShape(narrow, values);
  WidenedLoop result;
  ASSIGN_OR_RETURN(Computation * condition,
                   WidenCondition(loop->while_condition(), narrow, wide, loop->parent()));
  ASSIGN_OR_RETURN(Computation * body,
                   WidenBody(loop->while_body(), narrow, wide, loop->parent(), result));
  Builder builder(loop->parent());
  Instruction* init = TupleWithMore(builder, loop->operand(0), values);
  RETURN_IF_ERROR(builder.status());
  init->set_loc(loop->loc());
  builder.set_origin(loop);
  result.loop = builder.While(init, condition, body);
  RETURN_IF_ERROR(builder.status());
  RETURN_IF_ERROR(ReplaceLoop(loop, result.loop, values));
  return result;
}

}  // namespace hlo
