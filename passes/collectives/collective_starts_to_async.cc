#include "passes/collectives/collective_starts_to_async.h"

#include <fmt/format.h>

#include <vector>

#include "lib/ir/builder.h"
#include "lib/ir/control_edges.h"
#include "lib/ops/async_pairs.h"
#include "passes/collectives/sync_collectives.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool IsOwnDone(const Instruction& instruction) {
  return instruction.opcode() != Opcode::kAsyncDone && EndsCollective(instruction);
}

// The collective that `start` starts, in a computation of its own.
absl::StatusOr<Computation*> BodyOf(const Instruction& start, Shape result) {
  Computation* const body = start.module().AddComputation("async_computation");
  Builder b(body);
  std::vector<Instruction*> parameters;
  for (int i = 0; i < start.operand_count(); ++i)
    parameters.push_back(b.Parameter(i, start.operand(i)->shape(), fmt::format("param_{}", i)));
  b.set_origin(&start);
  Instruction* const collective = b.OpWithShape(AsyncPairOf(start.opcode())->opcode, result,
                                                parameters, start.attrs_ptr(), start.calls());
  RETURN_IF_ERROR(b.status());
  body->set_root(collective);
  return body;
}

absl::Status MakeGeneric(Instruction* start, Instruction* done) {
  Computation& computation = *done->parent();
  const uint32_t first_new = computation.module().id_limit();
  ASSIGN_OR_RETURN(Computation* const body, BodyOf(*start, done->shape()));
  Builder b(&computation, start);
  Instruction* const begin = b.OpWithShape(
      Opcode::kAsyncStart, Shape::Tuple({Shape::Tuple(start->operand_shapes()), done->shape()}),
      start->operand_vector(), AttrsPtr::Make(AsyncAttrs{}), std::vector<Computation*>{body});
  b.set_origin(done);
  Instruction* const end =
      b.OpWithShape(Opcode::kAsyncDone, done->shape(), {begin}, begin->attrs_ptr());
  RETURN_IF_ERROR(b.status());
  if (const Extras* extras = start->extras(); extras != nullptr)
    begin->mutable_extras().frontend_attributes = extras->frontend_attributes;
  MoveControlEdges(start, begin);
  MoveControlEdges(done, end);
  end->RemoveControlPredecessor(begin);  // it reads it
  if (computation.has_schedule()) {
    std::vector<Instruction*> sequence = computation.schedule();
    absl::c_replace(sequence, start, begin);
    absl::c_replace(sequence, done, end);
    computation.set_schedule(std::move(sequence));
  }
  computation.module().MoveName(*start, body->root());
  computation.module().Rename(begin, start->name());
  computation.module().MoveName(*done, end);
  ReplaceKeepingExtras(done, end, first_new);
  computation.RemoveUnused(start);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> CollectiveStartsToAsync::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    for (Instruction* done : computation->PostOrder()) {
      if (!IsOwnDone(*done)) continue;
      Instruction* const start = done->operand(0);
      if (!StartsCollective(*start) || start->uses().size() != 1) {
        context.Missed(*done, "it ends no pair that nothing else reads");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*done, "an async-done of what was started");
      RETURN_IF_ERROR(MakeGeneric(start, done));
      context.Count("wrapped");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(CollectiveStartsToAsync)

}  // namespace hlo
