// lib/eval/custom_calls.h
//
// What is known of custom calls by their target alone.
#pragma once

#include <string_view>

namespace hlo {

// Annotations: on a single device they give operand 0 ("Sharding").
bool IsIdentityCustomCall(std::string_view target);

}  // namespace hlo
