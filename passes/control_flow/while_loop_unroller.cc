#include "passes/control_flow/while_loop_unroller.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/custom_call.h"
#include "passes/control_flow/flatten_call_graph.h"
#include "passes/control_flow/loop_copies.h"
#include "passes/control_flow/while_loop_constant_sinking.h"
#include "passes/rewrite.h"
#include "passes/simplify/cse.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/growth_limit.h"
#include "passes/util/loop_state.h"
#include "passes/util/scheduling_annotation.h"

namespace hlo {

// The groups that are scheduled together, each iteration's apart from those of others.
class UnrolledGroups {
 public:
  explicit UnrolledGroups(const Module& module) {
    for (const Instruction* instruction : AllInstructions(module)) {
      if (const std::optional<SchedulingAnnotation> annotation = Of(*instruction))
        next_ = std::max(next_, *annotation->group + 1);
    }
  }

  void Renew(const std::vector<Instruction*>& iteration) {
    absl::flat_hash_map<int64_t, int64_t> renewed;  // looked up only
    for (Instruction* instruction : iteration) {
      std::optional<SchedulingAnnotation> annotation = Of(*instruction);
      if (!annotation) continue;
      const auto [group, is_new] = renewed.try_emplace(*annotation->group, next_ + 1);
      if (is_new) ++next_;
      annotation->group = group->second;
      SetSchedulingAnnotation(instruction, *annotation);
    }
  }

 private:
  static std::optional<SchedulingAnnotation> Of(const Instruction& instruction) {
    const absl::StatusOr<std::optional<SchedulingAnnotation>> annotation =
        SchedulingAnnotationOf(instruction);
    if (!annotation.ok() || !*annotation || !(*annotation)->group) return std::nullopt;
    return *annotation;
  }

  int64_t next_ = 1;
};

namespace {

constexpr int64_t kMostIterations = 64;
constexpr int64_t kLargestBody = 800;    // instructions
constexpr int64_t kMostCopied = 10'000;  // instructions of one loop

bool IsStep(const Instruction& add, int64_t counter) {
  return add.opcode() == Opcode::kAdd && IsParameterElement(*add.operand(0), counter) &&
         add.operand(1)->IsConstant();
}

// Copies `step` of iteration `k`, which starts with `state`, as a sum: the copies of a loop around
// them go on counting.
void CopyStep(const Instruction& step, const UnrollPlan& planned, Instruction* state, int64_t k,
              Computation* target, CopyMap& copies) {
  Builder builder(target, planned.loop);
  const Instruction& by = *step.operand(1);
  Instruction* const constant = target->AddClone(by, by.shape(), {});
  Instruction* const before = ReadElement(builder, state, planned.index);
  Instruction* const after = target->AddClone(step, step.shape(), {before, constant});
  for (Instruction* copy : {constant, after}) {
    copy->set_loc(planned.loop->loc());
    SetOriginInIteration(copy, *planned.loop, k);
  }
  copies[&by] = constant;
  copies[&step] = after;
}

// custom-call(t, i), "DynamicGte"        =>  get-tuple-element(t), index=i
// custom-call(t, x, i), "DynamicTuple"   =>  tuple(gte(t, 0), …, x, …)      x is element i
// Other calls, and such of an index that nobody knows, are returned as they are.
Instruction* WithKnownElement(Instruction* call) {
  const bool is_read = IsCustomCall(*call, "DynamicGte") && call->operand_count() == 2;
  const bool is_update = IsCustomCall(*call, "DynamicTuple") && call->operand_count() == 3;
  if (!is_read && !is_update) return call;
  Instruction* const tuple = call->operand(0);
  const Instruction& index = *call->operand(call->operand_count() - 1);
  const std::optional<int64_t> known_index = KnownInteger(index);
  if (!known_index || !tuple->shape().IsTuple()) return call;
  const int64_t at = *known_index;
  const int count = tuple->shape().element_count_of_tuple();
  const Shape shape = is_read ? call->shape() : call->operand(1)->shape();
  if (at < 0 || at >= count || tuple->shape().element(static_cast<int>(at)) != shape ||
      (is_update && call->shape() != tuple->shape()))
    return call;
  Builder builder(call->parent(), call);
  Instruction* known = nullptr;
  if (is_read) {
    known = builder.GetTupleElement(tuple, at);
  } else {
    std::vector<Instruction*> elements;
    for (int i = 0; i < count; ++i)
      elements.push_back(i == at ? call->operand(1) : builder.GetTupleElement(tuple, i));
    known = builder.Tuple(elements);
  }
  call->parent()->Replace(call, known);
  return known;
}

// Puts all iterations of the loop, which starts with `state`, into `target`; returns the last
// state.
Instruction* CopyIterations(const UnrollPlan& planned, Instruction* state, Computation* target,
                            IterationCopier& copier, UnrolledGroups& groups) {
  const Computation& body = *planned.loop->while_body();
  const std::vector<Instruction*> order = body.PostOrder();
  const Shape counter = planned.loop->shape().element(static_cast<int>(planned.index));
  std::vector<Instruction*> before;
  for (int64_t k = 0; k < planned.counted.trip_count; ++k) {
    CopyMap copies;
    copies[body.parameter(0)] = state;
    Instruction* value = target->AddConstant(Literal::Scalar<int64_t>(
        counter.element_type(), planned.counted.init + k * planned.counted.step));
    value->set_loc(planned.loop->loc());
    for (const Instruction* read : order) {
      if (IsParameterElement(*read, planned.index)) copies[read] = value;
    }
    for (const Instruction* step : order) {
      if (IsStep(*step, planned.index)) CopyStep(*step, planned, state, k, target, copies);
    }
    std::vector<Instruction*> made = copier.Copy(order, target, "", copies);
    for (Instruction* copy : made) SetOriginInIteration(copy, *planned.loop, k);
    groups.Renew(made);
    KeepEffectsInOrder(before, made);
    state = copies.at(body.root());
    for (Instruction*& copy : made) {
      Instruction* const element = WithKnownElement(copy);
      if (copy == state) state = element;
      copy = element;
    }
    before = std::move(made);
  }
  return state;
}

// A loop that runs once, and does there what `planned` does in all its iterations.
absl::StatusOr<Instruction*> LoopAroundIterations(const UnrollPlan& planned,
                                                  const LoopUnroller::OnceNames& names,
                                                  IterationCopier& copier, UnrolledGroups& groups) {
  const Instruction& loop = *planned.loop;
  Module& module = loop.module();
  Computation* body = module.AddComputation(names.body);
  Computation* condition = module.AddComputation(names.condition);
  for (Computation* computation : {body, condition}) {
    computation->set_execution_thread(loop.parent()->execution_thread());
    module.MoveToFront(computation, loop.parent());
  }
  Instruction* state = body->AddParameter(0, loop.shape(), loop.while_body()->parameter(0)->name());
  body->set_root(CopyIterations(planned, state, body, copier, groups));
  Builder inside(condition);
  Instruction* counter = inside.GetTupleElement(
      inside.Parameter(0, loop.shape(), loop.while_condition()->parameter(0)->name()),
      planned.index);
  Instruction* bound = inside.Constant(
      Literal::Scalar<int64_t>(counter->shape().element_type(), planned.counted.init));
  condition->set_root(inside.Compare(counter, bound, ComparisonDirection::kLe));
  RETURN_IF_ERROR(inside.status());
  Builder builder(&loop);
  Instruction* once = builder.While(loop.operand(0), condition, body);
  RETURN_IF_ERROR(builder.status());
  return once;
}

// What shows the bounds of loops.
absl::StatusOr<bool> Prepare(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(bool changed, RunPart(Cse({.layout_sensitive = true}), module, context));
  ASSIGN_OR_RETURN(const bool simplified, RunPart(TupleSimplifier(), module, context));
  ASSIGN_OR_RETURN(const bool sunk,
                   RunPart(WhileLoopConstantSinking({.sink_broadcast_of_constants = true,
                                                     .sink_only_scalar_constants = true}),
                           module, context));
  return changed || simplified || sunk;
}

}  // namespace

Decision PlanUnrolling(Instruction* loop, UnrollPlan& plan) {
  if (loop->operand(0)->opcode() != Opcode::kTuple) return No("its first state is no tuple");
  if (loop->has_control_edges()) return No("it has control edges");
  if (!MayCopyIterations(*loop)) return No("it sends or receives, or its condition has effects");
  const std::optional<int64_t> index = InductionIndex(*loop);
  if (!index || loop->shape().element(static_cast<int>(*index)).rank() != 0)
    return No("no single element of its state decides when it ends");
  const std::optional<CountedLoop> counted = MatchCountedLoop(*loop, *index);
  if (!counted) return No("it does not count to a constant");
  const int64_t size = loop->while_body()->instruction_count();
  if (counted->trip_count > kMostIterations) return No("it has {} iterations", counted->trip_count);
  if (size > kLargestBody || size * counted->trip_count > kMostCopied)
    return No("{} iterations of {} instructions are too many", counted->trip_count, size);
  plan = {loop, *index, *counted};
  return Yes();
}

class LoopUnroller::Impl {
 public:
  explicit Impl(Module& module) : copier_(module), groups_(module) {}

  // `once`: null for iterations as they are.
  absl::StatusOr<Instruction*> Unroll(const UnrollPlan& plan, const OnceNames* once,
                                      PassContext& context) {
    Instruction* loop = plan.loop;
    const int64_t size = loop->while_body()->instruction_count() * plan.counted.trip_count;
    if (!growth_.Add(size, *loop).ok()) {
      context.Missed(*loop, "the module would become too large");
      return nullptr;
    }
    if (!context.MayRewrite()) return nullptr;
    context.Passed(*loop, "{} iterations stand in its place", plan.counted.trip_count);
    const uint32_t first_new = loop->module().id_limit();
    Instruction* result = loop->operand(0);
    if (once != nullptr && plan.counted.trip_count > 0) {
      ASSIGN_OR_RETURN(result, LoopAroundIterations(plan, *once, copier_, groups_));
    } else {
      result = CopyIterations(plan, loop->operand(0), loop->parent(), copier_, groups_);
    }
    ReplaceKeepingExtras(loop, result, first_new);
    context.Count("unrolled");
    return result;
  }

 private:
  GrowthLimit growth_;
  IterationCopier copier_;
  UnrolledGroups groups_;
};

LoopUnroller::LoopUnroller(Module& module) : impl_(std::make_unique<Impl>(module)) {}
LoopUnroller::~LoopUnroller() = default;

absl::StatusOr<Instruction*> LoopUnroller::Unroll(const UnrollPlan& plan, PassContext& context) {
  return impl_->Unroll(plan, nullptr, context);
}

absl::StatusOr<Instruction*> LoopUnroller::UnrollIntoLoop(const UnrollPlan& plan,
                                                          const OnceNames& names,
                                                          PassContext& context) {
  return impl_->Unroll(plan, &names, context);
}

absl::StatusOr<bool> WhileLoopUnroller::Run(Module& module, PassContext& context) {
  if (options_.unroll_factor != -1) return false;
  ASSIGN_OR_RETURN(const bool prepared, Prepare(module, context));
  std::vector<UnrollPlan> loops;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      UnrollPlan plan;
      if (context.Allowed(*loop, PlanUnrolling(loop, plan))) loops.push_back(plan);
    }
  }
  bool unrolled = false;
  LoopUnroller unroller(module);
  for (const UnrollPlan& plan : loops) {
    Instruction* result = nullptr;
    if (options_.wrap_in_trivial_loop) {
      const LoopUnroller::OnceNames names = {fmt::format("unrolled-body-{}", plan.loop->name()),
                                             fmt::format("unrolled{}-cond", plan.loop->name())};
      ASSIGN_OR_RETURN(result, unroller.UnrollIntoLoop(plan, names, context));
    } else {
      ASSIGN_OR_RETURN(result, unroller.Unroll(plan, context));
    }
    unrolled |= result != nullptr;
  }
  if (prepared || unrolled) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  if (unrolled) RETURN_IF_ERROR(RunPart(FlattenCallGraph(), module, context).status());
  return prepared || unrolled;
}

HLO_DEFINE_PASS(WhileLoopUnroller)

}  // namespace hlo
