// A kernel that the module brings along as PTX text (passes/gpu/ptx_call.h) as a thunk. The text is
// loaded as it is: the driver translates it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/common/thunk.h"
#include "backends/gpu/device/device.h"
#include "lib/ir/module.h"

namespace hlo::gpu {

class PtxThunk final : public Thunk {
 public:
  // `number`: of GpuState::given_kernels. `arguments`: the addresses that the kernel is given, of
  // which those from `operands` on are written, by number of `buffers` (operands, then results).
  PtxThunk(std::string_view name, int number, const LaunchDims& dims, std::vector<int> arguments,
           std::vector<BufferSlice> buffers, size_t operands)
      : Thunk(name),
        number_(number),
        dims_(dims),
        arguments_(std::move(arguments)),
        buffers_(std::move(buffers)),
        operands_(operands) {}
  std::string_view kind() const override { return "ptx"; }
  bool OnlyEnqueues() const override { return true; }
  BufferUses uses() const override;
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, hlo::Stream& stream) const override;

 private:
  int number_;
  LaunchDims dims_;
  std::vector<int> arguments_;
  std::vector<BufferSlice> buffers_;
  size_t operands_;
};

// What a call launches; refused at its place where its config cannot be read, or CUDA has no launch
// or no argument of the kind.
struct PtxLaunch {
  DeviceCode code;
  LaunchDims dims;
  std::vector<int> arguments;  // as PtxThunk's
};
absl::StatusOr<PtxLaunch> PtxLaunchOf(const Instruction& call);

// Unimplemented, at all calls of the module together, if there are any: for devices without PTX.
absl::Status RefusePtxCalls(const Module& module);

}  // namespace hlo::gpu
