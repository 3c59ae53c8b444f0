// What hlo-fuzz can test: a table of modes. A mode is one function from bytes to a finding; it must
// hold for every input, so whatever it reports is a bug. Crashes, sanitizer reports, inputs that
// take too long or too much memory are the driver's business (driver.h).
//
// To add a mode: one row in fuzz_mode.cc and the function in a mode_<name>.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/fuzz/random.h"

namespace hlo {

struct FuzzMode {
  std::string_view name;
  std::string_view summary;
  // Empty when all is well; otherwise `kind: details`. Findings of one kind are taken for one bug.
  std::string (*check)(std::string_view input);
  // What else a report of a finding says about the input; may be null.
  std::string (*describe)(std::string_view input) = nullptr;
  // A new input out of nothing, for modes that seldom get far with changed seeds; may be null.
  std::string (*generate)(FuzzRandom& random) = nullptr;
  // The input with everything written down that its bytes decide, so that a smaller one is checked
  // in the same way; may be null.
  std::string (*pin)(std::string_view input) = nullptr;
  // Of eight inputs, how many are made by `generate`; the others are changed seeds.
  size_t generated_of_eight = 7;
};

std::span<const FuzzMode> FuzzModes();
// Null when there is no such mode.
const FuzzMode* FindFuzzMode(std::string_view name);

// Whether the error says that something is not supported, or not right; others are findings.
inline bool IsRefusal(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInvalidArgument(status);
}

// The checks.
std::string CheckParser(std::string_view input);
std::string CheckProto(std::string_view input);
std::string CheckPasses(std::string_view input);
std::string PassesFor(std::string_view input);
std::string WithPasses(std::string_view input);
std::string RandomInputOfPasses(FuzzRandom& random);
std::string CheckPlatforms(std::string_view input);
std::string DescribePlatforms(std::string_view input);
std::string CheckSpmd(std::string_view input);
std::string RandomShardedProgram(FuzzRandom& random);
std::string CheckAsync(std::string_view input);
std::string DescribeAsync(std::string_view input);
std::string CheckDevices(std::string_view input);

}  // namespace hlo
