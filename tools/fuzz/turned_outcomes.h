// What noise hardly ever makes of a value, though a platform may: a number that equals another, and
// a divisor that is nothing. They are made on purpose where noise has reached what they come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"

namespace hlo {

// The operations of the entry that may come out so, by name: comparisons of integers for equality,
// which noise moves (places that a sort gives, say), and quotients of floats.
std::vector<std::string> MayTurn(const Module& module);

// The module's results, then both operands of each of these operations.
absl::StatusOr<Literal> WithOperands(std::unique_ptr<Module> module, const EvalOptions& eval,
                                     const std::vector<Literal>& arguments,
                                     const std::vector<std::string>& names);

// The results of the module without noise, where each comparison that noise has reached, in any of
// the `noisy` results of WithOperands, comes out the other way, and each divisor that it moves by a
// large factor is `zero`. None: it reached none of them.
std::optional<Literal> WithTurned(const Module& module, const EvalOptions& eval,
                                  const std::vector<Literal>& arguments,
                                  const std::vector<std::string>& names,
                                  const std::vector<Literal>& noisy, double zero);

}  // namespace hlo
