// The flags of hlo-reduce.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/reduce/failure.h"
#include "tools/support/flags.h"

namespace hlo {

struct ReduceOptions {
  std::string output;
  bool crash = false, mismatch = false, hang = false;
  bool nan = false;
  double slow_compile = 0;  // seconds; 0: not asked for
  std::string memory;       // bytes, as hlo-run --memory-limit takes them
  std::string error, test;
  bool test_fails_on_bug = false;
  // Parts instead of a search (extract_parts.h).
  std::string extract;
  bool extract_each_fusion = false;
  int64_t height = 0, users = 0;
  std::string passes, platform;
  bool passes_only = false;
  double timeout = 60;
  int64_t max_tests = 0;
  int64_t flaky = 1;
  std::string bug_report;  // folder
  int64_t jobs = 0;        // 0: one for each processor
  int64_t seed = kDefaultSeed;
  int64_t seeds = 1;
  std::string abs, rel, ulps;
  std::string fill_elided;
  std::string progress = "auto";

  // Filled by CheckReduceOptions.
  FailureOptions failure;
  std::string input;
  bool shows_progress = false;
};

// Describes the flags that fill `options`.
void AddReduceFlags(Flags& flags, ReduceOptions& options);
// Checks the words and their combination; errors are usage errors (exit code 2).
absl::Status CheckReduceOptions(const Flags& flags, ReduceOptions& options);

}  // namespace hlo
