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

absl::Status CompiledExecutable::SetUp(const RunOptions& options, DeviceState& device) const {
  if (options.trace != nullptr) {
    return Error("platform `{}` keeps no single values to trace; use `--platform=interpreter`",
                 platform_);
  }
  device.max_loop_iterations = options.max_loop_iterations;
  device.replica_id = options.replica_id;
  device.partition_id = options.partition_id;
  device.communicator = options.communicator;
  return absl::OkStatus();
}

absl::Status CompiledState::Prepare(absl::Span<const Literal> arguments,
                                    const RunOptions& options) {
  RETURN_IF_ERROR(compiled_.SetUp(options, device()));
  RETURN_IF_ERROR(LoadArguments(arguments, /*only_overwritten=*/false));
  if (compiled_.OverwritesArguments()) arguments_.assign(arguments.begin(), arguments.end());
  used_ = false;
  return absl::OkStatus();
}

absl::Status CompiledState::Renew() {
  if (!used_ || arguments_.empty()) return absl::OkStatus();
  used_ = false;
  return LoadArguments(arguments_, /*only_overwritten=*/true);
}

absl::Status CompiledState::Run() {
  RETURN_IF_ERROR(Renew());
  used_ = true;
  return RunThunks();
}

}  // namespace hlo
