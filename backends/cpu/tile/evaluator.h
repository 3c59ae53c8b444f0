// backends/cpu/tile/evaluator.h
//
// Runs a kernel by interpretation: what tile IR means, for tests. Element nodes go through the
// interpreter's own kernels (lib/eval/elementwise.h). Every access is checked against the buffer's
// size.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

// As the compiled kernel: argument buffers in order, tasks [begin, end).
absl::Status Evaluate(const Kernel& kernel, absl::Span<void* const> buffers, int64_t begin,
                      int64_t end);

}  // namespace hlo::cpu::tile
