// Constants that are repeated, written out: a kernel that only repeats one costs more than what
// cuBLAS saves by adding it.
//
//   reshape(broadcast(f32[32] constant(…)))     a constant of all elements, 8 MiB at most
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// `bias`, or a constant in its place where it is a broadcast of a constant of more than one element
// that reshapes, transposes and bitcasts follow. What nobody reads then is removed.
absl::StatusOr<Instruction*> WrittenOut(Instruction* bias, Rewriter& b);

}  // namespace hlo
