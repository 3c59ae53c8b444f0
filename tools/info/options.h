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
  bool fingerprint = false;
  std::string extract;
  int64_t producers = -1;            // all
  std::string around, paths, stack;  // neighbours.h
  int64_t depth = 1;
  std::string operands, users;  // of these names, or, without a name, of `around`
  bool only_operands = false, only_users = false;
  bool split = false;

  // Whether it is a text of neighbours.h that is wanted.
  bool looks_around() const { return !around.empty() || !paths.empty() || !stack.empty(); }

  static constexpr int64_t kTextRows = 10;
};

// Describes the flags that fill `options`.
void AddInfoFlags(Flags& flags, InfoOptions& options);
// Flags that exclude each other; errors are usage errors (exit code 2).
absl::Status CheckInfoFlags(const Flags& flags, InfoOptions& options);

}  // namespace hlo
