// XLA:CPU as a platform of mode `platforms`: a Python process (scripts/xla_worker.py) that runs HLO
// texts with jaxlib. What XLA refuses, and where it aborts, counts as refused.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

// The name of this platform in configurations.
inline constexpr std::string_view kXlaPlatform = "xla";

// A Python with jaxlib: $HLO_ORACLE_PYTHON, else the one in ~/.cache/hlo-oracle, else python3.
std::string OraclePython();

// Runs the text on XLA with these arrays; the result has the shape `result`. The process is started
// when it is first needed and again after it has died.
absl::StatusOr<Literal> RunOnXla(const std::string& text, const std::vector<Literal>& arguments,
                                 Shape result);

}  // namespace hlo
