// --passes-only: which pass of a pipeline shows a failure first, and which of its rewrites.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "tools/reduce/failure.h"

namespace hlo {

struct BadPass {
  int64_t number = 0, passes = 0;  // from 1, of so many that are run
  std::string pass;                // with its options
  std::string before;              // the text of the module in front of it
  // Of that pass, from 1; 0: it counts none, or not one of them is to blame.
  int64_t rewrite = 0, rewrites = 0;
  std::string
      rule;  // with the instruction that it rewrote; empty where the pass did not get so far

  // "pass 3 of 9, `algsimp`, shows it first, at its rewrite 2 of 5: rule `add-zero` on `s`"
  std::string Verdict() const;
};

// Asks `test` about the module, whose text is called `name`, with fewer and fewer passes. An error
// where all of them do not show the failure, or none of them already does.
absl::StatusOr<BadPass> FindBadPass(const Module& module, const std::string& name,
                                    FailureTest& test);

}  // namespace hlo
