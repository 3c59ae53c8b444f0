// A compiled module on the CPU: thunks, machine code, and one arena that holds arguments, results,
// constants and temporaries.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/codegen/compiled_executable.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/memory_states.h"
#include "backends/cpu/thunk_emitter.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

class CpuExecutable final : public CompiledExecutable {
 public:
  static absl::StatusOr<std::unique_ptr<CpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             std::unique_ptr<ThreadPool> pool,
                                                             Program program,
                                                             const LibraryOptions& library);

  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments,
                              const RunOptions& options) override;
  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten) override;
  absl::Status Execute(const RunOptions& options) override;
  absl::StatusOr<Literal> Results() override;

 private:
  explicit CpuExecutable(std::unique_ptr<Module> module)
      : CompiledExecutable("cpu", std::move(module)) {}
  const CompiledProgram& program() const override { return program_; }
  absl::Status Allocate();
  absl::Status AllocateForRuns();
  absl::Status ExecuteIn(ExecuteContext& context, const RunOptions& options);
  // Memory for the wanted allocations, in order, and `extra_bytes` after them.
  absl::StatusOr<Arena> Place(int64_t extra_bytes, bool (*wanted)(const Allocation&));

  std::unique_ptr<ThreadPool> pool_;
  Program program_;
  Denormals denormals_ = Denormals::kFlush;
  Arena arena_;      // constants, temporaries, scratch
  Arena run_arena_;  // arguments and results, made at the first run
  bool has_run_memory_ = false;
  int64_t arena_used_ = 0;
  uint64_t random_state_ = 0;
  std::optional<MemoryStates> states_;  // when accesses are checked
};

}  // namespace hlo::cpu
