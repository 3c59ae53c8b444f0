// What an operation computes, memory aside: the other half of cost.h.
//
//   dot, convolution, …       a multiplication and an addition for each product; of windows only what
//                             falls on elements of the operand
//   reduce, scatter, map, …   what their computation costs, as often as it is applied
//   sort                      a comparison for each element of a row and each time it can be halved
//   fft, cholesky, …          what the usual algorithms take
//   elementwise               one for each element
#pragma once

#include "absl/types/span.h"
#include "lib/analysis/cost.h"

namespace hlo {

// Whether the computations that the instruction calls are part of what it computes.
bool AppliesComputations(const Instruction& instruction);

// The multiplications and additions of a dot.
double DotFlops(const DotAttrs& attrs, Shape lhs, Shape result);

// Without bytes. `applied`: what each of its computations costs for one element; of no account
// where they are not applied.
Cost OperationsOf(const Instruction& instruction, absl::Span<const Cost> applied);

}  // namespace hlo
