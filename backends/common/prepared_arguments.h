// What executables with memory of their own do with their arguments: find the arrays, and keep what
// a run overwrites so that the next one starts from the same values.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "backends/backend.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/types/literal.h"

namespace hlo {

// An error when the text that the value came from had left it out.
inline absl::Status RefuseElided(const Literal& literal, std::string_view name) {
  if (!literal.is_elided()) return absl::OkStatus();
  return Error("`{}` has no values in this text (`{{...}}`)", name);
}

// The arrays of all arguments of `entry`, tuples depth first; an error when one is elided.
inline absl::StatusOr<std::vector<const Literal*>> ArgumentLeaves(
    const Computation& entry, absl::Span<const Literal> arguments) {
  std::vector<const Literal*> leaves;
  const auto append = [&leaves](const auto& self, const Literal& literal,
                                std::string_view name) -> absl::Status {
    if (!literal.shape().IsTuple()) {
      leaves.push_back(&literal);
      return RefuseElided(literal, name);
    }
    for (const Literal& element : literal.elements()) RETURN_IF_ERROR(self(self, element, name));
    return absl::OkStatus();
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    RETURN_IF_ERROR(append(append, arguments[i], entry.parameter(static_cast<int>(i))->name()));
  return leaves;
}

// A run whose arguments lie in the executable's memory. `E` has OverwritesArguments,
// LoadArguments, Execute and Results.
template <class E>
class RenewingRun final : public PreparedRun {
 public:
  RenewingRun(E& executable, absl::Span<const Literal> arguments, RunOptions options)
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
  E& executable_;
  RunOptions options_;
  std::vector<Literal> arguments_;
  bool used_ = false;
};

}  // namespace hlo
