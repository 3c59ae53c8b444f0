// Flags of XLA: which exist, the two places besides the command line that hold them, and the file
// in which a dump keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

enum class XlaFlagType : uint8_t { kUnknown, kBool, kInt, kFloat, kText, kEnum };

struct XlaFlag {
  std::string_view name;
  XlaFlagType type = XlaFlagType::kUnknown;
  bool is_repeated = false;
  int place = -1;                  // among the fields of DebugOptions; -1: not printed
  std::string_view default_value;  // several are joined with commas
  std::string_view enumerators;    // joined with `|`
};
// The row of this name (`xla_dump_to`), or null.
const XlaFlag* FindXlaFlag(std::string_view name);
// The name nearest to it, or "".
std::string_view ClosestXlaFlag(std::string_view name);

// `value` of an enumeration by its full name; XLA takes it in any case and without the part that
// all names (joined with `|`) begin with. Another word comes back in capitals.
std::string XlaEnumerator(std::string value, std::string_view enumerators);

// The words of XLA_FLAGS: flags, or the name of a file that holds them. Empty when it is not set.
absl::StatusOr<std::vector<std::string>> XlaFlagsOfEnvironment();

// A file with XLA's DebugOptions in the text form of protocol buffers, `name: value` each; as
// `--name=value`. Values of a repeated field are joined with commas.
absl::StatusOr<std::vector<std::string>> XlaFlagsOfFile(const std::string& path);

// The flags (names with their values) that do not have their default value, in the form that
// XlaFlagsOfFile reads and in the order in which XLA writes them.
std::string DebugOptionsText(const std::map<std::string, std::string>& flags);

// Splits at blanks and newlines; '…' and "…" keep blanks.
std::vector<std::string> WordsOf(std::string_view text);

}  // namespace hlo
