// A compiled module on a device: thunks, loaded kernels, and one block of device memory with fixed
// addresses for arguments, results, constants, temporaries and scratch.
//
// Run copies each argument, by way of pinned memory, on a stream of its own just before the first
// thunk that touches it, which waits for that copy alone: what needs no argument, or those that are
// there, runs meanwhile. A prepared run has its arguments in place; it asks the device for no memory,
// and the heap neither (but for kernels of more than 64 buffers).
#pragma once

#include <memory>
#include <vector>

#include "backends/codegen/compiled_executable.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/device/staging.h"
#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/program.h"

namespace hlo::gpu {

class GpuExecutable final : public CompiledExecutable {
 public:
  // `codes`: one for each kernel of the program, or one that holds them all.
  static absl::StatusOr<std::unique_ptr<GpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             std::shared_ptr<Device> device,
                                                             Program program,
                                                             const std::vector<DeviceCode>& codes);
  ~GpuExecutable() override;

  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments,
                              const RunOptions& options) override;
  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten) override;
  absl::Status Execute(const RunOptions& options) override;
  absl::StatusOr<Literal> Results() override;

 private:
  explicit GpuExecutable(std::unique_ptr<Module> module)
      : CompiledExecutable("gpu", std::move(module)) {}
  const CompiledProgram& program() const override { return program_; }
  absl::Status LoadKernels(const std::vector<DeviceCode>& codes);
  absl::Status Allocate();
  void FindFirstUses();
  // Runs the thunks; `leaves`: the arguments to take in on the way, or null.
  absl::Status RunThunks(const RunOptions& options, const std::vector<const Literal*>* leaves);
  absl::Status OrOfKernels(absl::Status status);
  absl::Status LoadArgument(size_t allocation, const std::vector<const Literal*>& leaves);
  absl::StatusOr<std::vector<const Literal*>> Leaves(absl::Span<const Literal> arguments) const;

  std::shared_ptr<Device> device_;
  Program program_;
  std::vector<std::unique_ptr<DeviceModule>> modules_;
  std::vector<const Kernel*> kernels_;
  std::unique_ptr<Stream> stream_, copies_;
  std::unique_ptr<Staging> staging_;
  std::vector<std::unique_ptr<Event>> loaded_;   // by allocation; null but for arguments
  std::vector<std::vector<size_t>> first_uses_;  // arguments by the first thunk to touch them; the
                                                 // last list: those that no thunk touches
  DevicePtr memory_ = 0;
  RandomState random_;
};

}  // namespace hlo::gpu
