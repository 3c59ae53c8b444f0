// A bound of the memory that this process may take, so that asking for too much fails with a
// message instead of ending with the system killing this or another process.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Limits writable private memory to `bytes`; 0: to what the machine (and the control group) has
// available now.
void LimitMemory(uint64_t bytes);

// An error at `loc` when `what`, which ends in a verb, takes more bytes than `limit` (0: no limit
// of the user's) or than the machine has.
absl::Status CheckLimit(int64_t bytes, uint64_t limit, SourceLoc loc, std::string_view what);
// Whether the inputs and results of a run on so many devices could be held at all; the largest of
// them is named.
absl::Status CheckFits(const Module& module, std::string_view platform, int64_t devices,
                       uint64_t limit);

}  // namespace hlo
