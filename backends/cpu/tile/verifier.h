// backends/cpu/tile/verifier.h
//
// Checks that a kernel is well formed: values are defined before use and visible, types and lanes
// agree, buffers exist and only written ones are stored to. Errors are Internal: a family made a
// wrong kernel.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

absl::Status Verify(const Kernel& kernel);

}  // namespace hlo::cpu::tile
