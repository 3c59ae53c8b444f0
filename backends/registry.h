// The platforms by name, from backends.def. Back ends are made on first use and live as long as the
// process.
#pragma once

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/backend.h"

namespace hlo {

struct BackendInfo {
  std::string_view name;
  std::string_view aliases;  // separated by commas
  std::string_view summary;
};

// All rows of the table.
std::span<const BackendInfo> AllBackends();
// The back end of this name or alias; the error names the close one and lists all.
absl::StatusOr<Backend*> FindBackend(std::string_view name);

}  // namespace hlo
