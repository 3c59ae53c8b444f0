#include "backends/common/control_flow.h"

#include "lib/support/status.h"

namespace hlo {
namespace {

using EmitComputation = std::function<absl::StatusOr<ThunkList>(const Computation&)>;

absl::Status EmitWhileLoop(const Instruction& loop, const BufferAssignment& buffers,
                           const EmitComputation& emit, ThunkList& thunks) {
  ASSIGN_OR_RETURN(ThunkList condition, emit(*loop.while_condition()));
  ASSIGN_OR_RETURN(ThunkList body, emit(*loop.while_body()));
  const BufferSlice predicate = buffers.slice(*loop.while_condition()->root());
  thunks.push_back(
      std::make_unique<WhileThunk>(loop.name(), std::move(condition), predicate, std::move(body)));
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitControlFlow(const Instruction& instruction, const BufferAssignment& buffers,
                             const EmitComputation& emit, ThunkList& thunks) {
  if (instruction.opcode() == Opcode::kCall) {
    ASSIGN_OR_RETURN(ThunkList inner, emit(*instruction.to_apply()));
    for (auto& thunk : inner) thunks.push_back(std::move(thunk));
    return absl::OkStatus();
  }
  if (instruction.opcode() == Opcode::kWhile)
    return EmitWhileLoop(instruction, buffers, emit, thunks);
  std::vector<ThunkList> branches;
  for (const Computation* branch : instruction.calls()) {
    ASSIGN_OR_RETURN(ThunkList inner, emit(*branch));
    branches.push_back(std::move(inner));
  }
  const Instruction& selector = *instruction.operand(0);
  thunks.push_back(std::make_unique<ConditionalThunk>(instruction.name(), buffers.slice(selector),
                                                      IsPred(selector.shape().element_type()),
                                                      std::move(branches)));
  return absl::OkStatus();
}

}  // namespace hlo
