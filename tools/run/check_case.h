// Test files that say what they expect, in comments of the HLO text (testdata/run/README.md), and
// the models with their .json files: what one check does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal_compare.h"
#include "tools/run/options.h"

namespace hlo {

struct CheckResult {
  // kRan: nothing was wrong and nothing was compared. kNotMeant: the file leaves the platform out.
  enum class Outcome : char {
    kPassed = 'P',
    kRan = 'R',
    kFailed = 'F',
    kSkipped = 'S',
    kNotMeant = 'N'
  };
  Outcome outcome = Outcome::kPassed;
  std::string message;
};

// One run that a file asks for.
struct CheckRun {
  std::vector<std::string> arguments;  // literals; `3:LITERAL` is one of device 3
  // Literals by device, -1: of all others. Nothing: what the interpreter computes.
  std::map<int64_t, std::string> expected;
};

// The directives of one part of a file.
struct CheckDirectives {
  std::vector<CheckRun> runs;
  Tolerance tolerance;
  std::string expected_error;          // a part of the message; empty: success
  std::vector<std::string> platforms;  // empty: all
  std::optional<Denormals> denormals;
};

// Reads `// ARG:`, `// EXPECT:`, `// TOLERANCE:`, `// EXPECT-ERROR:`, `// PLATFORMS:` and `//
// DENORMALS:` lines.
absl::StatusOr<CheckDirectives> ParseDirectives(std::string_view text);

// Every part of an .hlo file with directives on one platform, one result for each part.
std::vector<CheckResult> CheckHloFile(const std::string& path, const std::string& platform,
                                      const ToolOptions& options);
// A model: its .json file's inputs and outputs.
CheckResult CheckModel(const std::string& path, const std::string& platform,
                       const ToolOptions& options);

}  // namespace hlo
