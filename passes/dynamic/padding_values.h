// What elements after the end of a dynamic dimension are to be, so that an instruction that reads
// whole arrays computes what it would without them.
#pragma once

#include "absl/status/statusor.h"
#include "lib/ir/builder.h"

namespace hlo {

// Whether it does not matter what stands after the end of dimension `dim` of an operand: what is
// made of it stands after the end of the result.
bool IgnoresAfterEnd(const Instruction& instruction, int operand, int64_t dim);

// The scalar that changes nothing; null: any value will do. An error for what is not understood.
absl::StatusOr<Instruction*> PaddingValue(Builder& builder, const Instruction& instruction,
                                          int operand);

// The value that a select-and-scatter, or the custom call of it, does not choose: its `select` has
// to prefer greater ones.
absl::StatusOr<Instruction*> NeverSelected(Builder& builder, const Instruction& instruction);

}  // namespace hlo
