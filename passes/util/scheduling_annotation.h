// The groups that a program wants scheduled together: the frontend attribute
// `_scheduling_group_id`.
//
//   frontend_attributes={_scheduling_group_id="3"}       group 3
//   frontend_attributes={_scheduling_group_id="3:-1"}    of the iteration before, after pipelining
//   frontend_attributes={_scheduling_group_id="noop"}    what is to be in no group
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"

namespace hlo {

struct SchedulingAnnotation {
  std::optional<int64_t> group;      // at least 0
  std::optional<int64_t> iteration;  // relative to the one that the instruction stands in

  std::string ToString() const;
  friend auto operator<=>(const SchedulingAnnotation&, const SchedulingAnnotation&) = default;
};

bool HasSchedulingAnnotation(const Instruction& instruction);
bool IsInNoSchedulingGroup(const Instruction& instruction);
// None for an instruction without, and for "noop"; an error for another text.
absl::StatusOr<std::optional<SchedulingAnnotation>> SchedulingAnnotationOf(
    const Instruction& instruction);
void SetSchedulingAnnotation(Instruction* instruction, const SchedulingAnnotation& annotation);
void RemoveSchedulingAnnotation(Instruction* instruction);

}  // namespace hlo
