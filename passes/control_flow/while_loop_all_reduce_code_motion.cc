#include "passes/control_flow/while_loop_all_reduce_code_motion.h"

#include "lib/analysis/region.h"
#include "passes/collectives/reorder_convert_reduce_add.h"
#include "passes/collectives/reorder_reduce_transpose.h"
#include "passes/control_flow/loop_accumulations.h"
#include "passes/rewrite.h"
#include "passes/util/constrained_layout.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// Beyond so many elements zeros are a broadcast instead of a constant.
constexpr int64_t kMostConstantZeros = 1 << 20;

Instruction* Zeros(Builder& b, Shape shape) {
  if (shape.element_count() <= kMostConstantZeros) return b.Constant(Literal(shape));
  Instruction* zero = b.Constant(Literal::Zero(shape.element_type()));
  return b.OpWithShape(Opcode::kBroadcast, shape, {zero}, AttrsPtr::Make(BroadcastAttrs{}));
}

// `value` in the element type of `like`.
Instruction* AsTypeOf(Builder& b, Instruction* value, Shape like) {
  if (value->shape().element_type() == like.element_type()) return value;
  return b.OpWithShape(Opcode::kConvert, value->shape().WithElementType(like.element_type()),
                       {value});
}

// Takes collectives out of one loop.
class MoveOutOf {
 public:
  MoveOutOf(Instruction* loop, PassContext& context)
      : loop_(loop), computation_(*loop->parent()), b_(loop->parent(), context) {}

  absl::Status Run(const std::vector<MovableReduce>& moved) {
    const int count = loop_->shape().element_count_of_tuple();
    Instruction* const old_init = loop_->operand(0);
    for (int i = 0; i < count; ++i) before_.push_back(ReadElement(b_, old_init, i));
    std::vector<Instruction*> init = before_;
    Shape shape = loop_->shape();
    for (const MovableReduce& movable : moved) {
      for (const Accumulation& sum : movable.sums) {
        const auto i = static_cast<int>(sum.element);
        if (movable.is_scatter()) shape = shape.WithElement(i, movable.reduce->operand(0)->shape());
        init[static_cast<size_t>(i)] = Zeros(b_, shape.element(i));
      }
    }
    const std::vector<Use> uses(loop_->uses().begin(), loop_->uses().end());
    const Shape old_shape = loop_->shape();
    const bool was_root = loop_->is_root();
    if (init != before_) loop_->ReplaceOperand(0, b_.Tuple(init));
    loop_->set_shape(shape);
    for (int i = 0; i < count; ++i) results_.push_back(b_.GetTupleElement(loop_, i));
    for (const MovableReduce& movable : moved) {
      for (const Accumulation& sum : movable.sums) AddReduced(*movable.reduce, sum.element);
      if (movable.region) ReduceRegion(*movable.reduce, *movable.region);
    }
    RETURN_IF_ERROR(b_.status());
    Replace(uses, old_shape, was_root);
    if (!old_init->has_uses() && !old_init->is_root()) computation_.RemoveUnused(old_init);
    return b_.status();
  }

 private:
  // What the element was, and what its sums come to between devices.
  void AddReduced(const Instruction& reduce, int64_t element) {
    Instruction*& result = results_[static_cast<size_t>(element)];
    Instruction* const before = before_[static_cast<size_t>(element)];
    Instruction* operand = AsTypeOf(b_, result, reduce.shape());
    const Shape shape =
        reduce.opcode() == Opcode::kReduceScatter ? reduce.shape() : operand->shape();
    if (!b_.status().ok()) return;
    Instruction* sums = computation_.AddClone(reduce, shape, {operand});
    result = b_.OpWithShape(Opcode::kAdd, before->shape(),
                            {before, AsTypeOf(b_, sums, before->shape())});
  }

  // The element with its region reduced between devices.
  void ReduceRegion(const Instruction& reduce, const StoredRegion& region) {
    Instruction*& result = results_[static_cast<size_t>(region.element)];
    const Shape whole = result->shape();
    const auto dims = region.shape.dims();
    const bool is_whole = SameDimensions(region.shape, whole);
    std::vector<int64_t> limits;
    for (size_t d = 0; d < dims.size(); ++d) limits.push_back(region.starts[d] + dims[d]);
    Instruction* operand = is_whole ? result : b_.Slice(result, region.starts, limits);
    operand = AsTypeOf(b_, operand, reduce.shape());
    if (!b_.status().ok()) return;
    Instruction* reduced = computation_.AddClone(reduce, operand->shape(), {operand});
    reduced = AsTypeOf(b_, reduced, whole);
    if (!is_whole) {
      std::vector<Instruction*> starts;
      for (const int64_t start : region.starts)
        starts.push_back(b_.Constant(Literal::Scalar(ElementType::kS64, start)));
      reduced = b_.DynamicUpdateSlice(result, reduced, starts);
    }
    result = reduced;
  }

  void Replace(const std::vector<Use>& uses, Shape old_shape, bool was_root) {
    Instruction* whole = nullptr;
    const auto as_before = [&] {
      if (whole != nullptr) return whole;
      whole = b_.Tuple(results_);
      whole->set_shape(old_shape);
      return whole;
    };
    for (const Use& use : uses) {
      // A loop around this one finds its own sums only after elements that are read directly.
      if (use.user->opcode() == Opcode::kGetTupleElement && !use.user->has_control_edges()) {
        Instruction* const result = results_[static_cast<size_t>(use.user->tuple_index())];
        use.user->ReplaceAllUsesWith(result);
        if (use.user->is_root()) computation_.set_root(result);
        computation_.RemoveUnused(use.user);
      } else {
        use.user->ReplaceOperand(use.operand_index, as_before());
      }
    }
    if (was_root) computation_.set_root(as_before());
  }

  Instruction* loop_;
  Computation& computation_;
  Rewriter b_;
  std::vector<Instruction*> before_;
  std::vector<Instruction*> results_;
};

// Lets `body` sum up what `scatter` would divide among devices.
absl::Status SumWhole(Computation& body, const MovableReduce& movable) {
  Instruction* const scatter = movable.reduce;
  const Shape whole = scatter->operand(0)->shape();
  Builder b(&body, scatter);
  Instruction* value = scatter;
  Instruction* const sum = movable.sums.front().sum;
  for (Instruction* user = value->uses()[0].user; user != sum; user = value->uses()[0].user) {
    Instruction* const pred = user->operand(0)->operand(0);
    const int other = user->operand(1) == value ? 2 : 1;
    user->ReplaceOperand(0, b.Broadcast(pred, whole.dims(), {}));
    user->ReplaceOperand(other, Zeros(b, whole));
    user->set_shape(whole);
    value = user;
  }
  sum->set_shape(whole);
  return b.status();
}

// Gives the parts of the state of `loops`, which share `body`, their new shapes.
void WidenState(const std::vector<Instruction*>& loops, Computation& body,
                const std::vector<MovableReduce>& moved) {
  std::vector<Instruction*> parameters = {body.parameter(0)};
  for (const Instruction* loop : loops) {
    Instruction* const parameter = loop->while_condition()->parameter(0);
    if (!absl::c_linear_search(parameters, parameter)) parameters.push_back(parameter);
  }
  for (const MovableReduce& movable : moved) {
    if (!movable.is_scatter()) continue;
    const Shape whole = movable.reduce->operand(0)->shape();
    const auto i = static_cast<int>(movable.sums.front().element);
    for (Instruction* parameter : parameters) {
      parameter->set_shape(parameter->shape().WithElement(i, whole));
      for (Instruction* read : parameter->users()) {
        if (read->tuple_index() == i) read->set_shape(whole);
      }
    }
    body.root()->set_shape(body.root()->shape().WithElement(i, whole));
  }
}

// The loops that run `body`, if nothing else does, nor their conditions.
std::vector<Instruction*> LoopsOf(const Computation& body) {
  std::vector<Instruction*> loops;
  for (const CallSite& site : body.callers()) {
    Instruction* const loop = site.caller;
    if (loop->opcode() != Opcode::kWhile || loop->while_body() != &body ||
        loop->while_condition() == &body || !loop->shape().IsTuple())
      return {};
    for (const CallSite& other : loop->while_condition()->callers()) {
      if (other.caller->opcode() != Opcode::kWhile || other.caller->while_body() != &body)
        return {};
    }
    loops.push_back(loop);
  }
  absl::c_sort(loops, [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); });
  return loops;
}

bool AnyConstrainsLayout(const Computation& body, OpcodeSet collectives) {
  const std::vector<Instruction*> all = body.instruction_vector();
  return absl::c_any_of(all, [&](const Instruction* instruction) {
    return collectives.Has(instruction->opcode()) && ConstrainsLayout(*instruction);
  });
}

absl::Status MoveAll(const std::vector<Instruction*>& loops, Computation& body,
                     const std::vector<MovableReduce>& moved, PassContext& context) {
  for (const MovableReduce& movable : moved) {
    if (movable.is_scatter()) RETURN_IF_ERROR(SumWhole(body, movable));
  }
  WidenState(loops, body, moved);
  for (Instruction* loop : loops) RETURN_IF_ERROR(MoveOutOf(loop, context).Run(moved));
  for (const MovableReduce& movable : moved) {
    Instruction* const reduce = movable.reduce;
    reduce->ReplaceAllUsesWith(reduce->operand(0));
    body.Remove(reduce);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> WhileLoopAllReduceCodeMotion::Run(Module& module, PassContext& context) {
  bool changed = false;
  if (options_.run_setup_passes) {
    ASSIGN_OR_RETURN(const bool transposed, RunPart(ReorderReduceTranspose(), module, context));
    ASSIGN_OR_RETURN(
        const bool converted,
        RunPart(ReorderConvertReduceAdd({.enable_reduce_scatter = options_.enable_reduce_scatter}),
                module, context));
    changed = transposed || converted;
  }
  OpcodeSet moved_opcodes = {Opcode::kAllReduce};
  if (options_.enable_reduce_scatter) moved_opcodes.Insert(Opcode::kReduceScatter);
  // Callees first: what leaves an inner loop may leave the outer one, too.
  for (Computation* body : context.NonFusionComputations(module)) {
    const std::vector<Instruction*> loops = LoopsOf(*body);
    if (loops.empty() || !body->MayHoldAny(moved_opcodes)) continue;
    if (AnyConstrainsLayout(*body, moved_opcodes)) break;  // layouts are no longer free anywhere
    LoopAccumulations accumulations(
        module, {options_.enable_reduce_scatter, options_.dus_max_size_bytes}, context);
    const std::vector<MovableReduce> moved = accumulations.Find(loops);
    if (moved.empty()) continue;
    if (!context.MayRewrite()) return changed;
    for (const MovableReduce& movable : moved)
      context.Passed(*movable.reduce, "moved after loop `{}`", loops.front()->name());
    context.Count("moved", static_cast<int64_t>(moved.size()));
    RETURN_IF_ERROR(MoveAll(loops, *body, moved, context));
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(WhileLoopAllReduceCodeMotion)

}  // namespace hlo
