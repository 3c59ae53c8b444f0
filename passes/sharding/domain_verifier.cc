#include "passes/sharding/domain_verifier.h"

namespace hlo {

absl::StatusOr<bool> DomainVerifier::RunOnComputation(Computation& computation, PassContext&) {
  RETURN_IF_ERROR(CheckDomainKind(options_));
  for (const Domain& domain : FindDomains(computation))
    RETURN_IF_ERROR(ShardingOfDomain(domain).status());
  return false;
}

HLO_DEFINE_PASS(DomainVerifier)

}  // namespace hlo
