// A compiled module on the CPU: thunks, machine code, and one arena that holds arguments, results,
// constants and temporaries.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/memory_states.h"
#include "backends/cpu/thunk_emitter.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

class CpuExecutable final : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<CpuExecutable>> Make(std::unique_ptr<Module> module,
                                                             std::unique_ptr<Jit> jit,
                                                             std::unique_ptr<ThreadPool> pool,
                                                             Program program,
                                                             const LibraryOptions& library);

  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments,
                              const RunOptions& options) override;
  absl::StatusOr<std::unique_ptr<PreparedRun>> Prepare(absl::Span<const Literal> arguments,
                                                       const RunOptions& options) override;
  const Module& module() const override { return *module_; }
  const CompileStats& stats() const override { return stats_; }
  void SetStats(const CompileStats& stats);

  // For prepared runs: takes the arguments in, runs the thunks, gives the results out.
  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten = false);
  // Whether a run writes into arguments (input_output_alias).
  bool OverwritesArguments() const;
  absl::Status Execute(const RunOptions& options);
  Literal Results() const;

 private:
  CpuExecutable() = default;
  absl::Status Allocate();
  absl::Status AllocateForRuns();
  absl::Status ExecuteIn(ExecuteContext& context, const RunOptions& options);
  // Memory for the wanted allocations, in order, and `extra_bytes` after them.
  absl::StatusOr<Arena> Place(int64_t extra_bytes, bool (*wanted)(const Allocation&));

  std::unique_ptr<Module> module_;
  std::unique_ptr<Jit> jit_;
  std::unique_ptr<ThreadPool> pool_;
  Program program_;
  Denormals denormals_ = Denormals::kFlush;
  CompileStats stats_;
  Arena arena_;      // constants, temporaries, scratch
  Arena run_arena_;  // arguments and results, made at the first run
  bool has_run_memory_ = false;
  int64_t arena_used_ = 0;
  std::vector<std::byte*> addresses_;  // by allocation
  std::byte* scratch_ = nullptr;
  uint64_t random_state_ = 0;
  std::optional<MemoryStates> states_;  // when accesses are checked
};

}  // namespace hlo::cpu
