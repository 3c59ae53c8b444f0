// lib/linalg/signature.h
//
// Whether a custom call has the operands, results and attributes of a row of the table of targets.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/linalg/job.h"
#include "lib/linalg/targets.h"
#include "lib/types/shape.h"

namespace hlo::linalg {

struct Signature {
  const Target* target = nullptr;
  ElementType type = ElementType::kF32;
  int64_t batch = 1;
  Sizes sizes;
  Attributes attributes;
  std::vector<Shape> operands, results;
};

// The row that fits the call, with the sizes found; else an error at the call.
absl::StatusOr<Signature> MatchSignature(const Instruction& call);

}  // namespace hlo::linalg
