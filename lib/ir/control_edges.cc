#include "lib/ir/control_edges.h"

#include <vector>

namespace hlo {

void MoveControlPredecessors(Instruction* from, Instruction* to) {
  for (Instruction* predecessor : from->control_predecessors()) {
    if (predecessor != to) to->AddControlPredecessor(predecessor);
  }
  while (!from->control_predecessors().empty())
    from->RemoveControlPredecessor(from->control_predecessors().back());
}

void MoveControlSuccessors(Instruction* from, Instruction* to) {
  for (Instruction* successor : from->control_successors()) {
    if (successor != to) successor->AddControlPredecessor(to);
  }
  while (!from->control_successors().empty())
    from->control_successors().back()->RemoveControlPredecessor(from);
}

void MoveControlEdges(Instruction* from, Instruction* to) {
  MoveControlPredecessors(from, to);
  MoveControlSuccessors(from, to);
}

void HandOverControlEdges(Instruction* old, Instruction* replacement) {
  const std::vector<Instruction*> after(old->control_successors().begin(),
                                        old->control_successors().end());
  const std::vector<Instruction*> readers = old->has_uses() ? old->users() : after;
  for (Instruction* predecessor : old->control_predecessors()) {
    for (Instruction* reader : readers) {
      if (reader != predecessor) reader->AddControlPredecessor(predecessor);
    }
  }
  MoveControlSuccessors(old, replacement);
  old->DropControlEdges();
}

}  // namespace hlo
