// A compiled module on the CPU: thunks, machine code, constants and the threads that run them. A
// run's memory is in its state: one arena for arguments, results and temporaries; or, of runs on
// buffers, for temporaries alone.
#pragma once

#include <memory>
#include <vector>

#include "backends/codegen/compiled_executable.h"
#include "backends/common/buffer_run.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/thunk_emitter.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

class CpuExecutable final : public CompiledExecutable, public TakesBuffers {
 public:
  static absl::StatusOr<std::unique_ptr<CpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             std::unique_ptr<ThreadPool> pool,
                                                             Program program,
                                                             const LibraryOptions& library);

  absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const override;
  absl::StatusOr<std::unique_ptr<BufferRun>> MakeBufferRun() const override;

  const Program& program() const override { return program_; }

 private:
  class Memory;
  class State;
  class OnBuffers;

  explicit CpuExecutable(std::unique_ptr<Module> module)
      : CompiledExecutable("cpu", std::move(module)) {}
  absl::Status LoadConstants();
  // Memory for `first_bytes`, and after them the wanted allocations in order, whose places it
  // notes in `addresses`.
  absl::StatusOr<Arena> Place(bool (*wanted)(const Allocation&), int64_t first_bytes,
                              std::vector<std::byte*>& addresses) const;

  std::unique_ptr<ThreadPool> pool_;
  Program program_;
  LibraryOptions options_;
  Arena constant_arena_;
  std::vector<std::byte*> constants_;  // by allocation; null but for constants
};

}  // namespace hlo::cpu
