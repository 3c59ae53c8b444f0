// lib/eval/custom_calls.h
//
// What is known of custom calls by their target alone.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "lib/ir/instruction.h"

namespace hlo {

// Annotations: on a single device they give operand 0 ("Sharding").
bool IsIdentityCustomCall(std::string_view target);

// Whether the evaluator computes it.
bool IsKnownCustomCall(std::string_view target);

// What every platform says of a call whose target nobody knows: its place, the target, and those
// that run.
absl::Status UnknownCustomCall(const Instruction& call);

}  // namespace hlo
