#include "passes/testing/hlo_verifier.h"

#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "lib/support/diagnostic.h"
#include "passes/util/library_configs.h"

namespace hlo {
namespace {

absl::Status CheckConfigs(const Module& module, int max_errors) {
  std::vector<Diagnostic> wrong;
  for (const Instruction* instruction : AllInstructions(module)) {
    const absl::Status status = CheckLibraryConfig(*instruction);
    if (!status.ok() && std::ssize(wrong) < max_errors)
      wrong.push_back(DiagnosticsOf(status).front());
  }
  if (wrong.empty()) return absl::OkStatus();
  return StatusOf(absl::StatusCode::kInvalidArgument, wrong);
}

}  // namespace

absl::StatusOr<bool> HloVerifier::Run(Module& module, PassContext&) {
  VerifierOptions options = options_;
  options.max_errors = static_cast<int>(std::clamp<int64_t>(options_.error_limit, 1, 1'000'000));
  RETURN_IF_ERROR(Verify(module, options));
  RETURN_IF_ERROR(CheckConfigs(module, options.max_errors));
  return false;
}

HLO_DEFINE_PASS(HloVerifier)

}  // namespace hlo
