// backends/llvm/rare_code.h
//
// Functions that code hardly ever needs, compiled when a run does: those that lib/math joins with
// SelectRare, such as the sine of an angle that takes hundreds of bits of pi. A kernel holds a call
// instead of what is often longer than the rest of it.
//
//   %entry = getelementptr i8, ptr @rare.sin_of_large.f32, i64 …     one for each number of lanes
//   %function = load atomic ptr, ptr %entry
//   call void %function(ptr %values, ptr %entry)                     values[i] = f(values[i])
//
// The first calls are computed by this process, element by element; a function that is called often
// is compiled, from then on for the rest of the process. Both give the same bits, being the same
// templates. Any number of threads may call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "backends/llvm/jit.h"

namespace hlo {

// What @rare.<name>.<type> points to: RareEntry[kRareEntries], for 1, 2, 4, … lanes.
struct RareEntry;
inline constexpr int kRareEntries = 8;
inline constexpr int64_t kRareEntryBytes = 64;
inline constexpr int kRareAlignment = 64;  // of `values`

// The symbol of a function (its kName) on f32 or f64 values.
std::string RareSymbol(std::string_view name, bool is_f64);

// Calls `define(symbol, address)` for all of them, in the form for the processor of `options`.
void DefineRareSymbols(const JitOptions& options,
                       const std::function<void(std::string_view, void*)>& define);

// After so many calls a function is compiled: that takes as long as some thousand calls.
inline constexpr int kRareCallsBeforeCompilation = 1000;

}  // namespace hlo
