#include "passes/control_flow/while_loop_all_reduce_code_motion.h"

#include <optional>

#include "lib/analysis/region.h"
#include "lib/analysis/replication.h"
#include "lib/match/pattern.h"
#include "passes/collectives/reorder_convert_reduce_add.h"
#include "passes/collectives/reorder_reduce_transpose.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/rewrite.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// An element of a loop's state that only sums up results of an all-reduce.
struct Accumulation {
  int64_t element;
  Instruction* reduce;
};

bool IsScattered(const Accumulation& accumulation) {
  return accumulation.reduce->opcode() == Opcode::kReduceScatter;
}

bool OnlyUsedBy(const Instruction& value, const Instruction& user) {
  return value.use_count() == 1 && value.uses()[0].user == &user && !value.is_root() &&
         !value.has_control_edges();
}

bool AddsUp(const Instruction& reduce) {
  const ElementType type =
      reduce.shape().IsArray() ? reduce.shape().element_type() : ElementType::kPred;
  return reduce.operand_count() == 1 && !IsPred(type) &&
         CombinerOpcode(*reduce.to_apply()) == Opcode::kAdd;
}

// The all-reduce that `value`, which only `user` reads, comes from by movement.
Instruction* ReducedSource(Instruction* value, const Instruction* user) {
  for (;;) {
    if (!OnlyUsedBy(*value, *user)) return nullptr;
    if (value->opcode() == Opcode::kAllReduce) break;
    if (value->opcode() != Opcode::kReshape && value->opcode() != Opcode::kTranspose &&
        value->opcode() != Opcode::kBitcast && value->opcode() != Opcode::kCopy)
      return nullptr;
    user = value;
    value = value->operand(0);
  }
  return AddsUp(*value) ? value : nullptr;
}

// Whether the computation of `parameter` reads its element `i` only where `sum` does.
bool ReadOnlyIn(const Instruction& parameter, int64_t i, const Instruction* sum) {
  for (const Use& use : parameter.uses()) {
    const Instruction& read = *use.user;
    if (read.opcode() != Opcode::kGetTupleElement || parameter.is_root()) return false;
    if (read.tuple_index() != i) continue;
    if (read.is_root() || sum == nullptr) {
      if (read.is_root() || read.has_uses()) return false;
      continue;
    }
    for (const Use& next : read.uses()) {
      if (next.user != sum) return false;
    }
  }
  return true;
}

class Motion {
 public:
  Motion(Module& module, bool with_scatter, PassContext& context)
      : context_(context),
        with_scatter_(with_scatter),
        replicas_(context.analyses().Get<Values>(module), Replication::Across::kReplicas),
        partitions_(context.analyses().Get<Values>(module), Replication::Across::kPartitions) {}

  std::vector<Accumulation> Find(const Instruction& loop) const {
    std::vector<Accumulation> found;
    const Computation &body = *loop.while_body(), &condition = *loop.while_condition();
    const Instruction* const root = body.root();
    if (body.callers().size() != 1 || condition.callers().size() != 1 ||
        root->opcode() != Opcode::kTuple || body.parameter_count() != 1)
      return found;
    for (int i = 0; i < root->operand_count(); ++i) {
      Instruction* const next = root->operand(i);
      if (!OnlyUsedBy(*next, *root) || !ReadOnlyIn(*condition.parameter(0), i, nullptr)) continue;
      Instruction* const reduce = next->opcode() == Opcode::kDynamicUpdateSlice
                                      ? FindInUpdate(body, *next, i)
                                      : FindInSum(body, *next, i, nullptr);
      if (reduce != nullptr) found.push_back({i, reduce});
    }
    return found;
  }

 private:
  // add(acc, reduced), acc being element `i`, or the part of it that `part` reads
  Instruction* FindInSum(const Computation& body, const Instruction& sum, int64_t i,
                         const Instruction* part) const {
    if (sum.opcode() != Opcode::kAdd || sum.operand(0) == sum.operand(1)) return nullptr;
    for (const int side : {0, 1}) {
      const Instruction& acc = *sum.operand(side);
      const bool is_acc = part != nullptr ? &acc == part : IsParameterElement(acc, i);
      if (!is_acc) continue;
      if (part == nullptr && !ReadOnlyIn(*body.parameter(0), i, &sum)) return nullptr;
      Instruction* const added = sum.operand(1 - side);
      if (with_scatter_ && part == nullptr && added->opcode() == Opcode::kReduceScatter)
        return OnlyUsedBy(*added, sum) && AddsUp(*added) ? added : nullptr;
      return ReducedSource(added, &sum);
    }
    return nullptr;
  }

  // dynamic-update-slice(acc, add(dynamic-slice(acc, start), reduced), start)
  Instruction* FindInUpdate(const Computation& body, const Instruction& update, int64_t i) const {
    const Instruction& sum = *update.operand(1);
    if (!OnlyUsedBy(sum, update) || sum.opcode() != Opcode::kAdd ||
        !IsParameterElement(*update.operand(0), i))
      return nullptr;
    for (const Instruction* part : sum.operands()) {
      if (part->opcode() != Opcode::kDynamicSlice || !OnlyUsedBy(*part, sum) ||
          !IsParameterElement(*part->operand(0), i) ||
          part->operand_count() + 1 != update.operand_count())
        continue;
      if (!StartsAlike(*part, update) || !ReadOnlyByUpdate(*body.parameter(0), i, *part, update))
        return nullptr;
      return FindInSum(body, sum, i, part);
    }
    return nullptr;
  }

  // The same start, on all devices.
  bool StartsAlike(const Instruction& part, const Instruction& update) const {
    for (int d = 1; d < part.operand_count(); ++d) {
      const Instruction& start = *part.operand(d);
      if (&start != update.operand(d + 1)) return false;
      if (!replicas_.Of(start) || !partitions_.Of(start)) {
        context_.Missed(update, "where it adds may differ between devices");
        return false;
      }
    }
    return true;
  }

  static bool ReadOnlyByUpdate(const Instruction& parameter, int64_t i, const Instruction& part,
                               const Instruction& update) {
    for (const Use& use : parameter.uses()) {
      if (use.user->opcode() != Opcode::kGetTupleElement || parameter.is_root()) return false;
      if (use.user->tuple_index() != i) continue;
      for (const Use& next : use.user->uses()) {
        const bool is_whole = next.operand_index == 0;
        if (!is_whole || (next.user != &part && next.user != &update)) return false;
      }
    }
    return true;
  }

  PassContext& context_;
  bool with_scatter_;
  Replication replicas_;
  Replication partitions_;
};

// Lets `loop`, which CanCarryMore, add up what `scatter` would divide among devices, in an element
// of its own, and adds its part of that to the element of `accumulation` after the loop.
absl::Status MoveScatterOut(Instruction* loop, const Accumulation& accumulation,
                            PassContext& context) {
  const auto& [element, scatter] = accumulation;
  Computation& computation = *loop->parent();
  Computation& body = *loop->while_body();
  const uint32_t first_new = computation.module().id_limit();
  Rewriter b(&computation, context);
  b.set_origin(scatter);
  Instruction* const whole = scatter->operand(0);
  Instruction* const zeros =
      b.OpWithShape(Opcode::kBroadcast, whole->shape(),
                    {b.Constant(*IdentityOf(Opcode::kAdd, whole->shape().element_type()))},
                    AttrsPtr::Make(BroadcastAttrs{}));
  RETURN_IF_ERROR(b.status());
  ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop, {zeros}));
  const int sums = body.root()->operand_count() - 1;
  Instruction* const sum = body.root()->operand(static_cast<int>(element));
  Builder inside(&body);
  inside.set_origin(sum);
  body.root()->ReplaceOperand(
      sums, inside.OpWithShape(Opcode::kAdd, whole->shape(), {reads.front(), whole}));
  body.root()->ReplaceOperand(static_cast<int>(element),
                              sum->operand(sum->operand(0) == scatter ? 1 : 0));
  RETURN_IF_ERROR(inside.status());
  const std::vector<Instruction*> readers = loop->users();
  Instruction* const part =
      computation.AddClone(*scatter, scatter->shape(), {b.GetTupleElement(loop, sums)});
  Instruction* const total =
      b.OpWithShape(Opcode::kAdd, sum->shape(), {b.GetTupleElement(loop, element), part});
  RETURN_IF_ERROR(b.status());
  body.Remove(sum);
  body.Remove(scatter);
  for (Instruction* reader : readers) {
    if (reader->tuple_index() == element) ReplaceKeepingExtras(reader, total, first_new);
  }
  return absl::OkStatus();
}

// Takes the all-reduces out of `loop`.
absl::Status MoveOut(Instruction* loop, const std::vector<Accumulation>& found,
                     PassContext& context) {
  Computation& computation = *loop->parent();
  Rewriter b(&computation, context);
  const int count = loop->shape().element_count_of_tuple();
  Instruction* const old_init = loop->operand(0);
  std::vector<Instruction*> init;
  for (int i = 0; i < count; ++i) init.push_back(ReadElement(b, old_init, i));
  const std::vector<Instruction*> before = init;
  for (const auto& [element, reduce] : found) {
    const Shape shape = loop->shape().element(static_cast<int>(element));
    Instruction* zero = b.Constant(*IdentityOf(Opcode::kAdd, shape.element_type()));
    Instruction* zeros = b.Broadcast(zero, shape.dims(), {});
    RETURN_IF_ERROR(b.status());
    zeros->set_shape(shape);
    init[static_cast<size_t>(element)] = zeros;
  }
  const std::vector<Use> uses(loop->uses().begin(), loop->uses().end());
  const bool was_root = loop->is_root();
  loop->ReplaceOperand(0, b.Tuple(init));
  std::vector<Instruction*> results;
  for (int i = 0; i < count; ++i) results.push_back(b.GetTupleElement(loop, i));
  for (const auto& [element, reduce] : found) {
    Instruction*& result = results[static_cast<size_t>(element)];
    Instruction* summed = computation.AddClone(*reduce, result->shape(), {result});
    result = b.Add(before[static_cast<size_t>(element)], summed);
    reduce->parent()->Replace(reduce, reduce->operand(0));
  }
  Instruction* whole = b.Tuple(results);
  RETURN_IF_ERROR(b.status());
  whole->set_shape(loop->shape());
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, whole);
  if (was_root) computation.set_root(whole);
  if (!old_init->has_uses() && !old_init->is_root()) computation.RemoveUnused(old_init);
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
  const std::vector<Computation*> computations =
      context.NonFusionComputations(module, {Opcode::kWhile});
  if (computations.empty()) return changed;
  // Sums keep being sums of the same: what is found stays true while loops inside change.
  const Motion motion(module, options_.enable_reduce_scatter, context);
  for (Computation* computation : computations) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile || !loop->shape().IsTuple()) continue;
      std::vector<Accumulation> found = motion.Find(*loop);
      if (!CanCarryMore(*loop)) std::erase_if(found, IsScattered);
      if (found.empty()) continue;
      if (!context.MayRewrite()) return changed;
      for (const Accumulation& accumulation : found)
        context.Passed(*accumulation.reduce, "moved after loop `{}`", loop->name());
      context.Count("moved", static_cast<int64_t>(found.size()));
      changed = true;
      for (const Accumulation& accumulation : found) {
        if (IsScattered(accumulation)) RETURN_IF_ERROR(MoveScatterOut(loop, accumulation, context));
      }
      std::erase_if(found, IsScattered);
      if (!found.empty()) RETURN_IF_ERROR(MoveOut(loop, found, context));
    }
  }
  return changed;
}

HLO_DEFINE_PASS(WhileLoopAllReduceCodeMotion)

}  // namespace hlo
