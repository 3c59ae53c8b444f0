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

// Where a call that was inlined began and ends: their operands, as a tuple or the one as it is.
inline constexpr std::string_view kCallBegins = "__xla_internal_call_marker_before";
inline constexpr std::string_view kCallEnds = "__xla_internal_call_marker_after";
inline bool IsCallMarker(std::string_view target) {
  return target == kCallBegins || target == kCallEnds;
}

// Whether the evaluator computes it.
bool IsKnownCustomCall(std::string_view target);

// What every platform says of a call whose target nobody knows: its place, the target, and those
// that run.
absl::Status UnknownCustomCall(const Instruction& call);

}  // namespace hlo
