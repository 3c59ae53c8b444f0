// Moves instructions into and out of the branches of conditionals, to where they meet what they
// can be fused with.
//
//   c = conditional(p, a, b), both branches { … tuple(exp(gte(s, 0))) },  r = negate(gte(c, 0))
//       =>   the branches return gte(s, 0),  r = negate(exp(gte(c, 0)))
//
//   c = conditional(p, a, b), branches { … tuple(dot(x, y)) } and { … tuple(dot(y, x)) },
//   r = negate(gte(c, 0))
//       =>   the branches return negate(dot(…)),  r = gte(c, 0)
//
//   c = conditional(p, tuple(add(x, y)), b)
//       =>   c = conditional(p, tuple(x, y), b), the first branch adds
//
// What all branches do last moves out; what follows the conditional moves into its branches; what
// makes an argument moves into the branch that reads it. Which instructions could
// move together: branch_groups.h; what may move at all and what holds together: motion_model.h. Out
// wins over in when both gain as much; where neither gains anything, conversions that all branches
// return move out with `pursue_full_conditional_code_motion`.
//
// Options:
//   is_layout_sensitive: what is the same in all branches has the same layouts
//   pursue_full_conditional_code_motion: see above; not while searching
//   search_config: other decisions, to find better ones (motion_model.h)
//   memory_increase_allowance: how much more memory, in 512 bytes for each instruction moved, a
//     group may need next to reductions and outfeeds
//
// Requires: nothing.  Ensures: if something moved, what no longer serves is removed, as by `dce,
// tuple-simplifier, dce`. In `fix` it comes to rest: readers that would move out again
// (branch_returns.h) and, with `pursue_full_conditional_code_motion`, conversions of results alone
// do not move in.
// Leaves alone: effects other than those of all-reduce and reduce-scatter on their way out, control
// edges, asynchronous operations, collectives on their way in, results that are read as a whole or
// are their computation's, arguments and parameters with shardings, conditionals in fusions.
// Branches that others call, too, are copied first.
#pragma once

#include <string>

#include "passes/pass.h"

namespace hlo {

struct ConditionalCodeMotionOptions {
  bool is_layout_sensitive = false;
  bool pursue_full_conditional_code_motion = false;
  std::string search_config;
  int64_t memory_increase_allowance = 5000;

  HLO_OPTIONS(ConditionalCodeMotionOptions, is_layout_sensitive,
              pursue_full_conditional_code_motion, search_config, memory_increase_allowance)
};

class ConditionalCodeMotion final : public WithOptions<Pass, ConditionalCodeMotionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
