// Flags of XLA: which names exist, and the two places besides the command line that hold them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// Whether XLA has a flag of this name (`xla_dump_to`).
bool IsXlaFlag(std::string_view name);
// The name nearest to it, or "".
std::string_view ClosestXlaFlag(std::string_view name);

// The words of XLA_FLAGS: flags, or the name of a file that holds them. Empty when it is not set.
absl::StatusOr<std::vector<std::string>> XlaFlagsOfEnvironment();

// A file with XLA's DebugOptions in the text form of protocol buffers, `name: value` each; as
// `--name=value`. Values of a repeated field are joined with commas.
absl::StatusOr<std::vector<std::string>> XlaFlagsOfFile(const std::string& path);

// Splits at blanks and newlines; '…' and "…" keep blanks.
std::vector<std::string> WordsOf(std::string_view text);

}  // namespace hlo
