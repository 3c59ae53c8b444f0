// The units of execution on a device: kernels, copies, and control flow decided by the host.
//
// They are thunks like those of the CPU; `ExecuteContext::allocations` hold device addresses, and
// the context is a GpuExecuteContext.
#pragma once

#include <vector>

#include "backends/common/thunk.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/emit/family.h"

namespace hlo::gpu {

struct GpuExecuteContext : ExecuteContext {
  Stream* stream = nullptr;
  const std::vector<const Kernel*>* kernels = nullptr;

  DevicePtr DeviceAddress(const BufferSlice& slice) const {
    return static_cast<DevicePtr>(reinterpret_cast<uintptr_t>(Address(slice)));
  }
};

// The launches of one instruction.
class GpuKernelThunk final : public Thunk {
 public:
  struct Step {
    PlanStep::Kind kind;
    int kernel = 0;  // of the executable
    LaunchDims dims;
    std::vector<int> buffers;
    std::vector<int64_t> integers;
  };
  // `buffers`: operand leaves, then result leaves; scratch memory follows in the steps' numbering.
  GpuKernelThunk(std::string_view name, std::string_view family, std::vector<Step> steps,
                 std::vector<BufferSlice> buffers, size_t result_count,
                 std::vector<int64_t> scratch);
  std::string_view kind() const override { return family_; }
  BufferUses uses() const override;
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  absl::Status Execute(ExecuteContext& context) const override;

 private:
  std::string family_;
  std::vector<Step> steps_;
  std::vector<BufferSlice> buffers_;
  size_t result_count_;
  std::vector<int64_t> scratch_, scratch_offsets_;
  int64_t scratch_bytes_ = 0;
};

class GpuCopyThunk final : public Thunk {
 public:
  GpuCopyThunk(std::string_view name, CopyList copies) : Thunk(name), copies_(std::move(copies)) {}
  std::string_view kind() const override { return "copy"; }
  BufferUses uses() const override { return CopyThunk(name(), copies_).uses(); }
  absl::Status Execute(ExecuteContext& context) const override;

 private:
  CopyList copies_;
};

// Runs `condition` and, while its result is true, `body`; the host waits for each result.
class GpuWhileThunk final : public ControlThunk {
 public:
  GpuWhileThunk(std::string_view name, ThunkList condition, BufferSlice predicate, ThunkList body);
  std::string_view kind() const override { return "while"; }
  BufferUses uses() const override;
  absl::Status Execute(ExecuteContext& context) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  BufferSlice predicate_;
};

// Runs the branch chosen by a pred (true: branch 0) or an s32 index (out of range: the last one).
class GpuConditionalThunk final : public ControlThunk {
 public:
  GpuConditionalThunk(std::string_view name, BufferSlice selector, bool selector_is_pred,
                      std::vector<ThunkList> branches)
      : ControlThunk(name, std::move(branches)), selector_(selector), is_pred_(selector_is_pred) {}
  std::string_view kind() const override { return "conditional"; }
  BufferUses uses() const override;
  absl::Status Execute(ExecuteContext& context) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  BufferSlice selector_;
  bool is_pred_;
};

}  // namespace hlo::gpu
