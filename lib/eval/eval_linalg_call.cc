// The custom calls of lib/linalg over literals.
#include <vector>

#include "lib/eval/eval_internal.h"
#include "lib/linalg/call.h"

namespace hlo {

EvalResult EvalLinalgCall(EvalContext& c) {
  ASSIGN_OR_RETURN(const linalg::LinalgCall call, linalg::LinalgCall::Make(c.instruction));
  RETURN_IF_ERROR(c.evaluator.Spend(call.batch() * call.cost()));
  std::vector<const void*> operands;
  for (const Literal& operand : c.operands) operands.push_back(operand.data());
  Literal result(c.instruction.shape());
  std::vector<void*> results;
  if (result.shape().IsTuple()) {
    for (Literal& element : result.mutable_elements()) results.push_back(element.mutable_data());
  } else {
    results.push_back(result.mutable_data());
  }
  call.Run(operands, results, 0, call.batch());
  return result;
}

}  // namespace hlo
