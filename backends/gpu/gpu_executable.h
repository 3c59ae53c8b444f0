// A compiled module on a device: thunks, loaded kernels, constants. A run's memory, one block
// with fixed addresses for arguments, results, temporaries and scratch, is in its state, and
// its streams are.
//
// ExecutionState::Execute copies each argument, by way of pinned memory, on a stream of its own
// just before the first thunk that touches it, which waits for that copy alone: what needs no
// argument, or those that are there, runs meanwhile. A prepared run has its arguments in place; it
// asks the device for no memory, and the heap neither (but for kernels of more than 64 buffers).
#pragma once

#include <memory>
#include <vector>

#include "backends/codegen/compiled_executable.h"
#include "backends/common/buffer_run.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/program.h"

namespace hlo::gpu {

class GpuExecutable final : public CompiledExecutable, public TakesBuffers {
 public:
  // `codes`: one for each kernel of the program, or one that holds them all.
  static absl::StatusOr<std::unique_ptr<GpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             std::shared_ptr<Device> device,
                                                             Program program,
                                                             const std::vector<DeviceCode>& codes);
  ~GpuExecutable() override;

  absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const override;
  // Arrays stay on the device from run to run.
  absl::StatusOr<std::unique_ptr<BufferRun>> MakeBufferRun() const override;

  const Program& program() const override { return program_; }

 private:
  class State;
  class OnBuffers;

  explicit GpuExecutable(std::unique_ptr<Module> module)
      : CompiledExecutable("gpu", std::move(module)) {}
  absl::Status LoadKernels(const std::vector<DeviceCode>& codes);
  absl::Status LoadConstants();
  void FindFirstUses();
  // Memory for `first_bytes`, and after them the wanted allocations, whose places it notes in
  // `addresses`.
  absl::StatusOr<DevicePtr> Place(bool (*wanted)(const Allocation&), int64_t first_bytes,
                                  std::vector<DevicePtr>& addresses) const;

  std::shared_ptr<Device> device_;
  Program program_;
  std::vector<std::unique_ptr<DeviceModule>> modules_;
  std::vector<const DeviceKernel*> kernels_;
  DevicePtr constant_memory_ = 0;
  std::vector<DevicePtr> constants_;             // by allocation; 0 but for constants
  std::vector<std::vector<size_t>> first_uses_;  // arguments by the first thunk to touch them; the
                                                 // last list: those that no thunk touches
};

}  // namespace hlo::gpu
