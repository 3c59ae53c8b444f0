// backends/codegen/compiled_executable.h
//
// What the executables of all code generators have in common: a program of thunks over the allocations
// of its buffer assignment, memory for them, and runs whose arguments lie in that memory.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/common/buffer_assignment.h"
#include "backends/common/thunk.h"

namespace hlo {

// What a program emitter makes of a module; targets add their code.
struct CompiledProgram {
  std::unique_ptr<BufferAssignment> buffers;
  ThunkList thunks;
  int64_t scratch_bytes = 0;
};

class CompiledExecutable : public Executable {
 public:
  const Module& module() const final { return *module_; }
  const CompileStats& stats() const final { return stats_; }
  void SetStats(const CompileStats& stats);
  absl::StatusOr<std::unique_ptr<PreparedRun>> Prepare(absl::Span<const Literal> arguments,
                                                       const RunOptions& options) final;

  // The parts of a prepared run: takes the arguments in, runs the thunks, gives the results out.
  virtual absl::Status LoadArguments(absl::Span<const Literal> arguments,
                                     bool only_overwritten) = 0;
  virtual absl::Status Execute(const RunOptions& options) = 0;
  virtual absl::StatusOr<Literal> Results() = 0;
  // Whether a run writes into arguments (input_output_alias).
  bool OverwritesArguments() const;

 protected:
  CompiledExecutable(std::string_view platform, std::unique_ptr<Module> module)
      : platform_(platform), module_(std::move(module)) {}
  virtual const CompiledProgram& program() const = 0;
  const std::vector<Allocation>& allocations() const { return program().buffers->allocations(); }

  // The arrays of all arguments, tuples depth first. Refuses arguments that do not fit.
  absl::StatusOr<std::vector<const Literal*>> LeavesOf(absl::Span<const Literal> arguments) const;
  // What every thunk is told, whatever the target.
  absl::Status SetUp(ExecuteContext& context, const RunOptions& options) const;

  std::vector<std::byte*> addresses_;  // by allocation
  std::byte* scratch_ = nullptr;

 private:
  std::string_view platform_;
  std::unique_ptr<Module> module_;
  CompileStats stats_;
};

// An error when the text that the value came from had left it out.
absl::Status RefuseElided(const Literal& literal, std::string_view name);

}  // namespace hlo
