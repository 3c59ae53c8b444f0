// Lets the kernels that read a small loop compute it themselves: all of them, or none.
//
//   f = f32[n] fusion(x), kind=kLoop, calls={multiply}
//   a = f32[n] fusion(f, y), kind=kLoop, calls={add}
//   b = f32[n] fusion(f, z), kind=kLoop, calls={subtract}
//     =>   a = f32[n] fusion(x, y), kind=kLoop, calls={add(multiply)}
//          b = f32[n] fusion(x, z), kind=kLoop, calls={subtract(multiply)}
//
// Done where at most `max_bytes_ratio` times as many bytes are moved as before: readers read what
// the loop read instead of what it wrote. Expensive operations are computed again only by one
// reader, or where seven tenths of the bytes (and of more than 1 KiB) are saved, and by none that
// reads an element twice.
//
// Requires: nothing. Ensures: what was merged is gone.
// Leaves alone: loops of several outputs, or whose result is the computation's; readers that are no
// loops or reductions; reductions that would read in strides; updates in place; kernels that would
// have too many operands or instructions, or compute elements too often; control edges;
// computations that run per element.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct FusionMergerOptions {
  NotNegative max_bytes_ratio = {1.1};

  HLO_OPTIONS(FusionMergerOptions, max_bytes_ratio)
};

class FusionMerger final : public WithOptions<Pass, FusionMergerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
