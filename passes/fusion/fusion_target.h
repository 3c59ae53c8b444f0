// What the kernels of a platform take, as data: fusion passes ask it what to build, `defuser`
// what to take apart, and the back end relies on the answer: a fusion that it meets and does
// not take is a bug.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo {

struct FusionTarget {
  std::string_view name;  // of the platform
  // Values of reductions inside a kernel are kept as long as the loops that they belong to run, so
  // kernels hold rows (softmax, normalisation). Else each element that reads one computes it.
  bool keeps_rows = false;
  // Row fusions (row_fusion.h) have a kernel that keeps the row.
  bool row_kernels = false;
  // Memory is slow: a simple operation on one array, whose elements are no wider than its result's,
  // is computed again by each kernel that reads it, and by each row.
  bool repeats_simple = false;
  // All outputs are computed in one loop: they have as many elements as the largest, or are one for
  // each row of it. Else there are several kernels in turn.
  bool one_loop = false;
  // Rolls (rolls.h) of what lies in memory cost no more than slices of it.
  bool rolls = false;
  // A fusion may hold one dot, scaled-dot or convolution, with elementwise operations after it.
  bool products = false;
  // What fusion passes build at most; given fusions may have more.
  int max_outputs = 1;
  int max_operands = 48;
};

// The rows, one for each code generator, by name. Null for no name of a row.
const FusionTarget* FindFusionTarget(std::string_view name);
absl::StatusOr<const FusionTarget*> GetFusionTarget(std::string_view name);
// "", or the name of a row.
absl::Status CheckFusionTarget(const std::string& name);

// Whether the kernels of `target` compute `fusion` as it is: they know each instruction in
// its place (kernel_support.h), its outputs can be computed together, and no reduction in
// it more than once.
Decision Takes(const FusionTarget& target, const Instruction& fusion);

// Dots, scaled dots, convolutions.
bool IsProduct(Opcode opcode);
// The only product of a fusion, or of an instruction, which counts as a fusion of one; or null.
const Instruction* ProductOf(const Instruction& fusion);

}  // namespace hlo
