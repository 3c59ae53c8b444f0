// Moving instructions across the border of a conditional. Nobody else may call its branches.
// Shardings and origins of results that change their form are forgotten or put together anew; what
// is unused afterwards is left to `dce`.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/control_flow/branch_groups.h"

namespace hlo {

// Puts what the branches of `conditional` do last after it; they return the border of the group.
absl::Status MoveOutOfBranches(Instruction* conditional, const BoundaryGroup& group);

// Lets the branches do what follows the conditional. Elements of the result that only they needed
// go, what others need is returned at the end. False if none can move: nothing changed.
absl::StatusOr<bool> MoveReadersIntoBranches(Instruction* conditional,
                                             absl::Span<const BoundaryGroup* const> groups);

// Lets the branches make what they are given, from what it is made of. False if that cannot be.
absl::StatusOr<bool> MoveArgumentsIntoBranches(Instruction* conditional,
                                               const BoundaryGroup& group);

// The elements of the result that all branches convert from and to the same type last, once.
std::vector<int64_t> ConvertedElements(const Instruction& conditional, bool layout_sensitive);
// Converts these elements after the conditional.
absl::Status MoveConvertsOutOfBranches(Instruction* conditional,
                                       const std::vector<int64_t>& elements);

}  // namespace hlo
