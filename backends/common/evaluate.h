// One instruction of a compiled program that the interpreter computes.
#pragma once

#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/ir/instruction.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo {

// A result that fits the memory of `instruction`, or a located error.
inline absl::StatusOr<Literal> EvaluateIntoMemory(Evaluator& evaluator,
                                                  const Instruction& instruction,
                                                  const std::vector<Literal>& operands) {
  ASSIGN_OR_RETURN(Literal result, evaluator.EvaluateInstruction(instruction, operands));
  const Shape shape = instruction.shape();
  // set-dimension-size may be declared with a fixed size, and then set another one.
  if (shape.IsArray() && !shape.has_dynamic_dims() &&
      !CompatibleIgnoringDynamic(result.shape(), shape)) {
    return Error(instruction.loc(), "`{}` is declared `{}`, but has shape `{}` now",
                 instruction.name(), shape, result.shape());
  }
  return result;
}

}  // namespace hlo
