// backends/gpu/emit/families/loops.h
//
// The families of everything that is computed element by element, and of reductions: what others
// fall back to. Internal to emit/: includes LLVM headers.
#pragma once

#include <vector>

#include "backends/gpu/emit/core/frame.h"
#include "passes/fusion/row_fusion.h"

namespace hlo::gpu {

absl::Status EmitLoop(const GpuFrame& frame, absl::Span<const KernelOutput> outputs,
                      KernelPlan& plan);
// Emits what the kernels of reductions store, and notes these outputs; others are loops.
absl::Status EmitReductions(const FamilyRequest& request, std::vector<bool>& emitted);
// One kernel for the whole fusion.
absl::Status EmitRowFusion(const FamilyRequest& request, const RowFusion& fusion);
// All outputs, by rows, or by reductions and loops.
absl::Status EmitLoops(const FamilyRequest& request);

}  // namespace hlo::gpu
