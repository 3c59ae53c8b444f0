// lib/eval/ffi_library.h
//
// Custom calls computed by shared libraries through XLA's typed FFI: a handler for target NAME is
// the exported function NAME, as XLA_FFI_DEFINE_HANDLER_SYMBOL makes it.
//
//   RETURN_IF_ERROR(LoadCustomCall("my_target", "./libmine.so"));   // from then on known to evaluators
//
// A handler gets arrays in row-major order and the attributes of the call's backend_config
// (`{name = 1 : i32, …}`) and runs on the calling thread; it may ask for scratch memory, run tasks
// and report errors. What it is not offered: streams, state, user data and futures.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

// Not while anything is evaluated. The library stays loaded.
absl::Status LoadCustomCall(std::string target, const std::string& path);

bool HasLoadedCustomCall(std::string_view target);

// Requires HasLoadedCustomCall of the call's target.
absl::StatusOr<Literal> RunLoadedCustomCall(const Instruction& call,
                                            absl::Span<const Literal> operands);

}  // namespace hlo
