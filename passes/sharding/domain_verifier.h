// Checks that all `domain` instructions around a domain say the same of it (domain_map.h).
//
//   d = f32[4] domain(x), domain={kind="sharding", entry={maximal device=1}, exit={…}}
//   e = f32[4] domain(y), domain={kind="sharding", entry={maximal device=2}, exit={…}}
//   f = f32[4] add(d, e)       => error: domain mismatch at `e`
//
// Changes nothing. Option `kind`: which domains; there is only `sharding`.
#pragma once

#include "passes/computation_pass.h"
#include "passes/util/domain_map.h"

namespace hlo {

class DomainVerifier final : public WithOptions<ComputationPass, DomainOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
