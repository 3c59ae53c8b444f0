// Puts a `domain` between instructions of different shardings.
//
//   x = u16[6] negate(q), sharding={maximal device=2}
//   y = u16[6] multiply(x, x), sharding={maximal device=5}
//     =>   d = u16[6] domain(x), domain={kind="sharding", entry={maximal device=5}, exit={maximal device=2}}
//          y = u16[6] multiply(d, d), sharding={maximal device=5}
//
// So that passes between this one and `domain_remover` do not merge what belongs to different
// devices. Users of one sharding share a domain. Tuples whose leaves have one sharding are compared
// by it.
//
// Option `kind`: which domains; there is only `sharding`.
// Requires: nothing.  Ensures: domains in between aside, an operand has the sharding of who reads
// it, or there is a `domain` that says both.
#pragma once

#include "passes/computation_pass.h"
#include "passes/util/domain_map.h"

namespace hlo {

class DomainIsolator final : public WithOptions<ComputationPass, DomainOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
