// What the child process does with a text: reads it, runs passes, compiles, executes, compares. Its
// exit code and what it writes to standard error are the answer.
#pragma once

#include <optional>
#include <string>

#include "lib/types/literal_compare.h"
#include "passes/pass.h"
#include "passes/pipeline.h"

namespace hlo {

// The exit code that says that the text is no valid module.
inline constexpr int kExitNotReadable = 98;

// How much of a pipeline is run; -1: all.
struct PassLimits {
  int64_t passes = -1;
  int64_t rewrites = -1;  // of the last of these passes
};

struct CandidateRun {
  const Pipeline* pipeline = nullptr;
  PassLimits limits;
  std::string platform;  // empty: only the passes are run
  // With a platform: its results with the interpreter's; without: those before the passes with
  // those after.
  bool compares_results = false;
  uint64_t seed = 0;
  int64_t seeds = 1;
  std::optional<Tolerance> tolerance;
};

// Lets the pass with which the limits end make no more rewrites.
void LimitRewrites(const PassLimits& limits, PassContext& context);

// The exit code; messages go to standard error.
int RunCandidate(const std::string& text, const CandidateRun& run);

}  // namespace hlo
