// A tile kernel with its buffers. Splits its tasks over the pool when there is enough work
// for it to pay.
#pragma once

#include <vector>

#include "backends/cpu/cpu_state.h"
#include "backends/cpu/kernel_code.h"

namespace hlo::cpu {

struct KernelLaunch {
  KernelCode code;
  const Instruction* instruction = nullptr;
  std::vector<BufferSlice> buffers;  // operand leaves, then result leaves
  size_t result_count = 1;           // of `buffers`, the last ones
  int64_t task_count = 1;
  double cost_ns_per_task = 0;
  int64_t scratch_bytes = 0;  // per concurrent call
  int threads = 1;
  bool tracks_states = false;  // runs in a TrackingState (memory_states.h)
  bool is_update = false;      // leaves the rest of its result as it was
};

class KernelThunk final : public CpuThunk {
 public:
  KernelThunk(std::string_view name, KernelLaunch launch);
  std::string_view kind() const override { return "kernel"; }
  BufferUses uses() const override;
  int64_t scratch_bytes() const override { return launch_.scratch_bytes * parts_; }

 protected:
  absl::Status Run(CpuState& state) const override;

 private:
  absl::Status RunKernel(CpuState& state, absl::Span<tile::ByteState* const> states) const;
  absl::Status RunTracked(CpuState& state) const;

  KernelLaunch launch_;
  int parts_;  // calls that run at the same time
};

}  // namespace hlo::cpu
