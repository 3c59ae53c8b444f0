// Running what lib/linalg computes over the threads of the platform.
#pragma once

#include "absl/types/span.h"
#include "lib/linalg/call.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

// All matrices of the batch. Every one runs in one thread, so results do not depend on how many
// there are.
void RunBatch(const linalg::LinalgCall& call, absl::Span<const void* const> operands,
              absl::Span<void* const> results, ThreadPool& pool);

}  // namespace hlo::cpu
