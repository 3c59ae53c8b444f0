// `all-reduce-combiner` with the limits of the CPU: of any size, at most 256 arrays at once.
#pragma once

#include <limits>

#include "passes/pass.h"

namespace hlo {

struct CpuAllReduceCombinerOptions {
  int64_t combine_threshold_in_bytes = std::numeric_limits<int64_t>::max();
  int64_t combine_threshold_count = 256;

  static auto Fields() {
    using O = CpuAllReduceCombinerOptions;
    return std::tuple{Optional("combine_threshold_in_bytes", &O::combine_threshold_in_bytes),
                      Optional("combine_threshold_count", &O::combine_threshold_count)};
  }
};

class CpuAllReduceCombiner final : public Pass {
 public:
  using Options = CpuAllReduceCombinerOptions;
  explicit CpuAllReduceCombiner(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
