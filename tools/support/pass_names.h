// Names of passes in flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hlo {

// `a, b` as {"a", "b"}.
std::vector<std::string> NamesOf(std::string_view list);
// Whether there is such a pass, here or in XLA.
absl::Status CheckPassName(std::string_view name);
// Those of the list that exist; a warning of `program` for the others, which XLA passes over.
std::vector<std::string> KnownPassNames(std::string_view list, std::string_view program,
                                        std::string_view flag);

}  // namespace hlo
