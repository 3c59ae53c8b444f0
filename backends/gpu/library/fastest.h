// Which of several ways to do the same is the fastest on a device.
#pragma once

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

// `run` puts way i of `count` on the stream, which has a clock. Each is run `runs` times after one
// that is not timed, and its least time counts. Way 0 is what is taken without a clock: another is
// taken when it saves at least a thirtieth. Ways that fail are left out.
size_t FastestOf(Stream& stream, size_t count, int runs,
                 absl::FunctionRef<absl::Status(size_t i)> run);

// Fills memory with small numbers, not zeros, which some circuits multiply faster.
absl::Status FillWithNumbers(Stream& stream, DevicePtr memory, int64_t bytes);

}  // namespace hlo::gpu
