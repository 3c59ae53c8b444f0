// A bound of the memory that this process may take, so that asking for too much fails with a
// message instead of ending with the system killing this or another process.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "lib/ir/module.h"

namespace hlo {

// Limits writable private memory to `bytes`; 0: to what the machine (and the control group) has
// available now.
void LimitMemory(uint64_t bytes);

// Whether the inputs and results of a run on so many devices could be held at all; the largest of
// them is named.
absl::Status CheckFits(const Module& module, std::string_view platform, int64_t devices,
                       uint64_t limit);
// Whether a run of what `backend` compiles has room, before inputs are made: it is compiled to the
// point where its buffers are known, unless all arrays of the module together have room anyway. The
// error names the largest buffers. Platforms without buffers are let through.
absl::Status CheckPlanFits(const Module& module, Backend& backend, CompileOptions options,
                           int64_t devices, uint64_t limit);

}  // namespace hlo
