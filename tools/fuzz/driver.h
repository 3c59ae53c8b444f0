// The fuzzer's own driver: takes seeds, changes them at random (mutate.h), keeps what reaches new
// code (coverage.h), and runs all of it in child processes (child.h). Repeatable: the same seed,
// inputs and program make the same runs, as long as nothing is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/fuzz/child.h"
#include "tools/fuzz/fuzz_mode.h"

namespace hlo {

struct FuzzOptions {
  std::vector<std::string> seeds;  // files or folders
  std::string corpus;              // a folder: read, and new inputs are added; "": none
  std::string distill;    // a folder: only copy the seeds that reach new code, short ones first
  std::string artifacts;  // a folder for findings; "": they are only printed
  uint64_t seed = 1;
  double seconds = 60;         // 0: no limit
  int64_t runs = 0;            // 0: no limit
  int64_t max_length = 6000;   // of an input, in bytes
  double reduce_seconds = 60;  // for making a finding smaller; 0: it stays as it was found
  InputLimits limits;
};

// Runs until the limits; returns the number of different findings. Progress goes to standard error.
absl::StatusOr<int> Fuzz(const FuzzMode& mode, const FuzzOptions& options);

// Checks one input. Empty, or `kind: details`.
std::string CheckOnce(const FuzzMode& mode, const FuzzOptions& options, std::string_view input);

// A smaller input with a finding of the same kind; `input` itself when it has none.
std::string Minimize(const FuzzMode& mode, const FuzzOptions& options, const std::string& input);

}  // namespace hlo
