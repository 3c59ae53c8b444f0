// What XLA's verifier lets pass though nothing can evaluate it: a warning when a module is read, an
// error when it is to run.
//
//   after a mistake   broadcast that reads one dimension twice; bitcast of or to something that is
//                     no array; compare of complex numbers by order; fft whose length is not that
//                     of the array (of no elements, or length 0, there is nothing to transform)
//   sizes             of dynamic-reshape and start indices of a collective-permute in place
//                     that are no scalars
//   indexing          gather and scatter: a dimension that is both batching and indexed, collapsed
//                     or inserted; batching dimensions of different sizes, or along the index
//                     vector; variadic scatters over arrays of different sizes
//   regions           of reduce, reduce-window, map, sort, scatter and select-and-scatter that
//                     compute in other floats than the elements
//   control flow      while whose body returns something else than it takes; computation of a
//                     fusion that something else calls, too
//   collectives       a reducer that is no function of two scalars of the operands' types; operands
//                     that are tuples; roots of a collective-broadcast that are not s32 with one
//                     entry per operand
//
// Only as an error, when it is to run:
//
//   asynchronous      chains that end never, or more than once, on their way through loops, calls
//                     and branches (verify_chains.cc)
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "lib/ir/module.h"
#include "lib/support/diagnostic.h"

namespace hlo {

// The module is sound (verifier.h). Few of a kind are shown, the others counted.
std::vector<Diagnostic> MeaningWarnings(const Module& module);
// Whether nothing would be said about this instruction.
bool HasMeaning(const Instruction& instruction);
// The same as errors, and what is an error only.
absl::Status VerifyMeaning(const Module& module);

}  // namespace hlo
