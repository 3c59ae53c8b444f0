// backends/common/poisoned_run.h
//
// The check of a buffer assignment that does not believe it: runs the module on the interpreter,
// instruction by instruction, with every value in the memory that it was given. Memory whose values
// are no longer needed (lib/analysis/live_range.h) is filled with garbage, so that a value that was
// given up too early, two values in one place, or a copy that is missing show in the results.
//
// The computation of an async-start may run at any time up to its done. It runs as a whole, at one
// end or at the other: first, it writes over what others still need; last, it reads what others
// have written over.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/common/buffer_assignment.h"
#include "lib/types/literal.h"

namespace hlo {

enum class BackgroundRuns : uint8_t { kAtStart, kAtDone };

// The result of the entry. Errors: what the interpreter does not evaluate one by one, chains that
// begin in another computation.
absl::StatusOr<Literal> PoisonedRun(const Module& module, const BufferAssignment& buffers,
                                    absl::Span<const Literal> arguments,
                                    BackgroundRuns background = BackgroundRuns::kAtStart);

}  // namespace hlo
