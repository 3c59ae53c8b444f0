// What the thunks of a run on this processor share and change, and the base of those that use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "backends/common/thunk.h"
#include "backends/cpu/library/kernel_state.h"
#include "lib/eval/evaluator.h"

namespace hlo {
class CrashLine;
class ThreadPool;
}  // namespace hlo

namespace hlo::cpu {

class Background;

struct CpuState : DeviceState {
  CpuState();
  ~CpuState() override;

  std::vector<std::byte*> addresses;  // of the allocations
  std::byte* scratch = nullptr;       // Thunk::scratch_bytes() of the largest thunk, aligned to 64
  ThreadPool* pool = nullptr;         // of the executable: runs at the same time take turns
  // What library kernels keep, by the number that the program gave to each; made at the first run.
  std::vector<std::unique_ptr<KernelState>> kernels;
  Evaluator evaluator;                     // of what neither a kernel nor the library computes
  const CrashLine* lines = nullptr;        // of the run
  const CpuState* starter = nullptr;       // of a sequence in the background: who has started it
  std::atomic<bool> is_cancelled = false;  // it is to end soon
  std::unique_ptr<Background> background;  // what runs beside this sequence, if anything ever has

  bool IsCancelled() const;
  // A state for the same memory, without anything else.
  virtual std::unique_ptr<CpuState> MakeChild() const;

  void* Address(const BufferSlice& slice) const {
    if (slice.allocation < 0) return nullptr;
    return addresses[static_cast<size_t>(slice.allocation)] + slice.offset;
  }
  absl::Status Copy(Stream& stream, const BufferSlice& to, const BufferSlice& from,
                    int64_t bytes) override;
  absl::Status Read(Stream& stream, const BufferSlice& from, void* to, int64_t bytes) override;
};

// Does its work at once.
class CpuThunk : public Thunk {
 public:
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& /*stream*/) const final {
    absl::Status status = Run(static_cast<CpuState&>(state));
    if (!status.ok()) return status;
    return ExecuteEvent();
  }

 protected:
  using Thunk::Thunk;
  virtual absl::Status Run(CpuState& state) const = 0;
};

// Thunks have done their work when they return.
class HostStream final : public Stream {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

}  // namespace hlo::cpu
