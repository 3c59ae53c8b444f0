#include "passes/testing/hlo_verifier.h"

#include <algorithm>

#include "lib/ir/verifier.h"

namespace hlo {

absl::StatusOr<bool> HloVerifier::Run(Module& module, PassContext&) {
  VerifierOptions options;
  options.layout_sensitive = options_.layout_sensitive;
  options.allow_mixed_precision = options_.allow_mixed_precision;
  options.max_errors = static_cast<int>(std::clamp<int64_t>(options_.max_errors, 1, 1'000'000));
  RETURN_IF_ERROR(Verify(module, options));
  return false;
}

HLO_DEFINE_PASS(HloVerifier)

}  // namespace hlo
