// The flags of hlo-info.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/support/flags.h"

namespace hlo {

struct InfoOptions {
  std::string show;  // names of sections; empty: the default ones
  std::string filter;
  int64_t top = kTextRows;  // 0: all
  std::string platform = "cpu";
  bool json = false, csv = false;
  bool exact = false;
  std::string output = "-";
  std::string extract;
  int64_t producers = -1;  // all
  bool split = false;

  static constexpr int64_t kTextRows = 10;
};

// Describes the flags that fill `options`.
void AddInfoFlags(Flags& flags, InfoOptions& options);
// Flags that exclude each other; errors are usage errors (exit code 2).
absl::Status CheckInfoFlags(const Flags& flags, InfoOptions& options);

}  // namespace hlo
