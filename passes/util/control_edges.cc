#include "passes/util/control_edges.h"

#include <vector>

namespace hlo {

void HandOverControlEdges(Instruction* old, Instruction* replacement) {
  if (!old->has_control_edges()) return;
  const std::vector<Instruction*> before(old->control_predecessors().begin(),
                                         old->control_predecessors().end());
  const std::vector<Instruction*> after(old->control_successors().begin(),
                                        old->control_successors().end());
  const std::vector<Instruction*> readers = old->has_uses() ? old->users() : after;
  old->DropControlEdges();
  for (Instruction* predecessor : before) {
    for (Instruction* reader : readers) {
      if (reader != predecessor) reader->AddControlPredecessor(predecessor);
    }
  }
  for (Instruction* successor : after) {
    if (successor != replacement) successor->AddControlPredecessor(replacement);
  }
}

}  // namespace hlo
