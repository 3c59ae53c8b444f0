// `all-reduce-combiner` with the limits of the CPU: of any size, at most 256 arrays at once.
#pragma once

#include <limits>

#include "passes/pass.h"

namespace hlo {

struct CpuAllReduceCombinerOptions {
  int64_t combine_threshold_in_bytes = std::numeric_limits<int64_t>::max();
  int64_t combine_threshold_count = 256;

  HLO_OPTIONS(CpuAllReduceCombinerOptions, combine_threshold_in_bytes, combine_threshold_count)
};

class CpuAllReduceCombiner final : public WithOptions<Pass, CpuAllReduceCombinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
