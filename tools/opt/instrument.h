// What the flags of hlo-opt ask of the pass manager and of the passes' context.
#pragma once

#include "absl/status/status.h"
#include "passes/pass_manager.h"
#include "tools/opt/options.h"
#include "tools/opt/print_filter.h"

namespace hlo {

// PASS:FIRST-LAST: of the rewrites that this pass could make, only these, from 0.
struct RewriteRange {
  std::string pass;
  int64_t first = 0, last = 0;
};
absl::StatusOr<RewriteRange> ParseRewriteRange(const std::string& text);

// What --filter-… say of modules.
PrintFilter PrintFilterOf(const OptOptions& options);

// Fills what flags decide; folders that are named are made.
absl::Status FillInstrumentation(const OptOptions& options, const PrintOptions& print,
                                 Instrumentation& instrumentation);

// Threads, remarks, rules that are left out, limits on rewrites, --trace-rules. The context must
// stay where it is.
absl::Status FillContext(const OptOptions& options, PassContext& context);

// A line for each place of a pass that the flags name and that `runs` does not have.
std::string NamesWithoutPass(const Instrumentation& instrumentation,
                             const std::vector<PassRun>& runs);
// A line for each rule of --disable-rule that none of the passes made so far has.
std::string NamesWithoutRule(const OptOptions& options);

}  // namespace hlo
