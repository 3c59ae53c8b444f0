// Which dimensions have sizes that are known at run time only, and where these are computed.
//
//   x = f32[6] parameter(0)                                               x = f32[6] parameter(0)
//   n = s32[] parameter(1)                                                n = s32[] parameter(1)
//   y = f32[<=6] set-dimension-size(x, n), dimensions={0}          =>     y: dimension 0 has n elements
//   p = f32[<=8] pad(y, zero), padding=1_1                                p: dimension 0 has n + 2
//
// Sizes are followed from where they come from (set-dimension-size, dynamic-reshape, parameters of
// the entry, infeeds) through everything that runs on thread `main`. The module changes: sizes are
// instructions; they travel through loops, branches and calls as further elements of states,
// operands and results; sources become static by custom calls `PadToStatic`; get-dimension-size is
// the size. A value whose sizes are known has its bounds for a shape, but for the results of
// set-dimension-size.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "passes/dynamic/dynamic_sizes.h"

namespace hlo {

// Whether an instruction takes arrays that end before their bounds.
enum class DynamismSupport : uint8_t {
  kNone,      // only whole arrays
  kOptional,  // both
  kRequired,  // only arrays with dynamic dimensions
};
using SupportOf = std::function<DynamismSupport(const Instruction&)>;

// What to do about sizes that have to be equal and are computed by different instructions.
enum class ShapeCheckMode : uint8_t { kIgnore, kCompileTime, kRuntime };

struct InferenceOptions {
  ShapeCheckMode shape_checks = ShapeCheckMode::kIgnore;
  SupportOf support;
};

// Fills `sizes`. `seen` gets the computations that were looked at, callers first.
absl::Status InferDynamicSizes(Module& module, const InferenceOptions& options, DynamicSizes& sizes,
                               std::vector<Computation*>& seen);

}  // namespace hlo
