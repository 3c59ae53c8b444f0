#include "backends/codegen/compiled_executable.h"

#include <algorithm>
#include <utility>

#include "lib/ir/computation.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

absl::Status AppendLeaves(const Literal& literal, std::string_view name,
                          std::vector<const Literal*>& leaves) {
  if (!literal.shape().IsTuple()) {
    leaves.push_back(&literal);
    return RefuseElided(literal, name);
  }
  for (const Literal& element : literal.elements())
    RETURN_IF_ERROR(AppendLeaves(element, name, leaves));
  return absl::OkStatus();
}

// A run whose arguments lie in the executable's memory.
class RenewingRun final : public PreparedRun {
 public:
  RenewingRun(CompiledExecutable& executable, absl::Span<const Literal> arguments,
              RunOptions options)
      : executable_(executable), options_(std::move(options)) {
    // Arguments that a run overwrites are needed again.
    if (executable_.OverwritesArguments()) arguments_.assign(arguments.begin(), arguments.end());
  }
  absl::Status Renew() override {
    if (!used_ || arguments_.empty()) return absl::OkStatus();
    used_ = false;
    return executable_.LoadArguments(arguments_, /*only_overwritten=*/true);
  }
  absl::Status Run() override {
    RETURN_IF_ERROR(Renew());
    used_ = true;
    return executable_.Execute(options_);
  }
  absl::StatusOr<Literal> Result() override { return executable_.Results(); }

 private:
  CompiledExecutable& executable_;
  RunOptions options_;
  std::vector<Literal> arguments_;
  bool used_ = false;
};

}  // namespace

absl::Status RefuseElided(const Literal& literal, std::string_view name) {
  if (!literal.is_elided()) return absl::OkStatus();
  return Error("`{}` has no values in this text (`{{...}}`)", name);
}

void CompiledExecutable::SetStats(const CompileStats& stats) {
  stats_ = stats;
  stats_.peak_bytes = program().buffers->total_size() + program().scratch_bytes;
}

bool CompiledExecutable::OverwritesArguments() const {
  return std::any_of(allocations().begin(), allocations().end(),
                     [](const Allocation& a) { return a.donated; });
}

absl::StatusOr<std::vector<const Literal*>> CompiledExecutable::LeavesOf(
    absl::Span<const Literal> arguments) const {
  const Computation& entry = *module_->entry();
  RETURN_IF_ERROR(CheckArguments(entry, arguments));
  std::vector<const Literal*> leaves;
  for (size_t i = 0; i < arguments.size(); ++i) {
    RETURN_IF_ERROR(
        AppendLeaves(arguments[i], entry.parameter(static_cast<int>(i))->name(), leaves));
  }
  return leaves;
}

absl::Status CompiledExecutable::SetUp(ExecuteContext& context, const RunOptions& options) const {
  if (options.trace != nullptr) {
    return Error("platform `{}` keeps no single values to trace; use `--platform=interpreter`",
                 platform_);
  }
  context.allocations = addresses_.data();
  context.scratch = scratch_;
  context.max_loop_iterations = options.max_loop_iterations;
  context.replica_id = options.replica_id;
  context.partition_id = options.partition_id;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PreparedRun>> CompiledExecutable::Prepare(
    absl::Span<const Literal> arguments, const RunOptions& options) {
  RETURN_IF_ERROR(LoadArguments(arguments, /*only_overwritten=*/false));
  return std::unique_ptr<PreparedRun>(std::make_unique<RenewingRun>(*this, arguments, options));
}

}  // namespace hlo
