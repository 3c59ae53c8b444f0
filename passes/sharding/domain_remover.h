// Removes `domain` instructions and gives what they said of shardings to the instructions.
//
//   d = u16[6] domain(x), domain={kind="sharding", entry={maximal device=5}, exit={maximal device=2}}
//   y = u16[6] multiply(d, d)      =>   y = u16[6] multiply(x, x), sharding={maximal device=5}
//
// Instructions of a domain that have a sharding keep it. A single sharding goes to all others; one
// of tuples goes from users to what they read, leaf by leaf, and to tuples that nobody reads; an
// instruction gets one if all its leaves are known and no users contradict each other. Where no
// domain is, a sharding that all instructions agree about goes to the rest; where domains say that
// there is none, nothing does. A value that only passes through a domain, or is the result of one,
// goes through a tuple, out of which it comes with its sharding: so the crossing is not forgotten.
//
// Option `kind`: which domains; there is only `sharding`.
// Requires: what `domain_verifier` checks; else it is an error.  Ensures: no `domain` is left but
// as the one operation of an asynchronous computation.
#pragma once

#include "passes/computation_pass.h"
#include "passes/util/domain_map.h"

namespace hlo {

class DomainRemover final : public WithOptions<ComputationPass, DomainOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
