// backends/codegen/compiled_executable.h
//
// What the executables of all code generators have in common: a constant program of thunks over the
// allocations of its buffer assignment, and states with memory for them, in which runs find their
// arguments.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/common/buffer_assignment.h"
#include "backends/common/memory_report.h"
#include "backends/common/thunk.h"

namespace hlo {

// What a program emitter makes of a module; targets add their code.
struct CompiledProgram {
  std::unique_ptr<BufferAssignment> buffers;
  ThunkList thunks;
  int64_t scratch_bytes = 0;
  CodegenTimes times;
};

class CompiledExecutable : public Executable, public KnowsBuffers {
 public:
  const Module& module() const final { return *module_; }
  const CompileStats& stats() const final { return stats_; }
  void SetStats(const CompileStats& stats);
  const BufferAssignment* assigned_buffers() const final { return program().buffers.get(); }
  int64_t thunk_scratch_bytes() const final { return program().scratch_bytes; }

  // For states.
  virtual const CompiledProgram& program() const = 0;
  const std::vector<Allocation>& allocations() const { return program().buffers->allocations(); }
  // The arrays of all arguments, tuples depth first. Refuses arguments that do not fit.
  absl::StatusOr<std::vector<const Literal*>> LeavesOf(absl::Span<const Literal> arguments) const;
  // What every thunk is told, whatever the target.
  absl::Status SetUp(const RunOptions& options, DeviceState& device) const;
  // Whether a run writes into arguments (input_output_alias).
  bool OverwritesArguments() const;

 protected:
  CompiledExecutable(std::string_view platform, std::unique_ptr<Module> module)
      : platform_(platform), module_(std::move(module)) {}

 private:
  std::string_view platform_;
  std::unique_ptr<Module> module_;
  CompileStats stats_;
};

// A state whose memory holds the arguments of its runs. Targets take them in, run the thunks, and
// give the results out.
class CompiledState : public ExecutionState {
 public:
  absl::Status Prepare(absl::Span<const Literal> arguments, const RunOptions& options) final;
  absl::Status Renew() final;
  absl::Status Run() final;

 protected:
  explicit CompiledState(const CompiledExecutable& executable) : compiled_(executable) {}
  virtual DeviceState& device() = 0;
  virtual absl::Status LoadArguments(absl::Span<const Literal> arguments,
                                     bool only_overwritten) = 0;
  virtual absl::Status RunThunks() = 0;

 private:
  const CompiledExecutable& compiled_;
  std::vector<Literal> arguments_;  // that a run overwrites: they are needed again
  bool used_ = false;
};

// An error when the text that the value came from had left it out.
absl::Status RefuseElided(const Literal& literal, std::string_view name);

}  // namespace hlo
