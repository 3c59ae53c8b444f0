// backends/cpu/library/blocked_copy.h
//
// Copies a strided f32 array into one of oneDNN's blocked layouts, several times as fast as
// oneDNN's own copy for the kernels of convolutions in HLO's usual order. Internal to this folder.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "backends/cpu/library/onednn.h"

namespace hlo::cpu {

// Whether `layout` is one that CopyBlocked writes: f32 with one or two inner blocks.
bool IsBlockedLayout(const dnnl_memory_desc_t& layout);

// Writes all of `to`, padding included (as zeros). `strides` are those of `from`, one for each
// dimension of the layout, and may be negative.
void CopyBlocked(const float* from, absl::Span<const int64_t> strides,
                 const dnnl_memory_desc_t& layout, float* to, ThreadPool& pool);

}  // namespace hlo::cpu
