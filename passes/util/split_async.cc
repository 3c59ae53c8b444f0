#include "passes/util/split_async.h"

#include "lib/ir/builder.h"
#include "lib/ir/control_edges.h"
#include "passes/rewrite.h"

namespace hlo {

Computation* AsyncComputationOf(const Instruction& instruction) {
  Computation* const wrapped = instruction.module().AddComputation("async_computation");
  Builder b(wrapped);
  std::vector<Instruction*> parameters;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    parameters.push_back(
        b.Parameter(i, instruction.operand(i)->shape(), fmt::format("param_{}", i)));
  }
  wrapped->set_root(wrapped->AddClone(instruction, instruction.shape(), parameters));
  return wrapped;
}

void ReplaceByPair(Instruction* whole, Instruction* start, Instruction* done, uint32_t first_new) {
  start->CopyExtrasFrom(*whole);
  if (!(start->shape() == whole->shape())) {
    start->clear_sharding();
    start->mutable_extras().origin.reset();
  }
  MoveControlPredecessors(whole, start);
  MoveControlSuccessors(whole, done);
  ReplaceKeepingExtras(whole, done, first_new);
}

}  // namespace hlo
