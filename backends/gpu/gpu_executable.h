// A compiled module on a device: thunks, loaded kernels, constants. A run's memory, one block
// with fixed addresses for arguments, results, temporaries and scratch, is in its state, and
// its streams are.
//
// ExecutionState::Execute copies each argument, by way of pinned memory, on a stream of its own
// just before the first thunk that touches it, which waits for that copy alone: what needs no
// argument, or those that are there, runs meanwhile. A prepared run has its arguments in place; it
// asks the device for no memory, and the heap neither (but for kernels of more than 64 buffers).
//
// On several devices the states lie on one after the other, in the order in which they are made.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/codegen/compiled_executable.h"
#include "backends/common/buffer_run.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/placed_program.h"
#include "backends/gpu/program.h"

namespace hlo::gpu {

class NcclCommunicator;  // library/nccl_communicator.h

// Where a program runs: at least one device, and what brings its runs on several together; null:
// the host does.
struct DeviceSet {
  std::vector<std::shared_ptr<Device>> all;
  std::shared_ptr<NcclCommunicator> collectives;
};

class GpuExecutable final : public CompiledExecutable, public TakesBuffers {
 public:
  // `codes`: one for each kernel of the program, or one that holds them all.
  static absl::StatusOr<std::unique_ptr<GpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             DeviceSet devices, Program program,
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
  void FindFirstUses();
  // Where the next state is to lie.
  const PlacedProgram& NextPlace() const;

  Program program_;
  std::vector<std::unique_ptr<PlacedProgram>> placed_;
  mutable std::atomic<size_t> next_place_ = 0;
  std::shared_ptr<NcclCommunicator> collectives_;
  std::vector<std::vector<size_t>> first_uses_;  // arguments by the first thunk to touch them; the
                                                 // last list: those that no thunk touches
};

}  // namespace hlo::gpu
