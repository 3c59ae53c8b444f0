#include "passes/testing/hlo_verifier.h"

#include <algorithm>

#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "passes/util/library_configs.h"

namespace hlo {
namespace {

absl::Status CheckConfigs(const Module& module, int max_errors) {
  std::vector<Diagnostic> wrong;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const absl::Status status = CheckLibraryConfig(*instruction);
      if (!status.ok() && std::ssize(wrong) < max_errors)
        wrong.push_back(DiagnosticsOf(status).front());
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return StatusOf(absl::StatusCode::kInvalidArgument, wrong);
}

}  // namespace

absl::StatusOr<bool> HloVerifier::Run(Module& module, PassContext&) {
  VerifierOptions options;
  options.layout_sensitive = options_.layout_sensitive;
  options.allow_mixed_precision = options_.allow_mixed_precision;
  options.verify_broadcast_dims_order = options_.verify_broadcast_dims_order;
  options.verify_reshape_is_bitcast = options_.verify_reshape_is_bitcast;
  options.verify_call_nested_computation_thread_name =
      options_.verify_call_nested_computation_thread_name;
  options.verify_sharding_device_numbers = options_.verify_sharding_device_numbers;
  options.allow_bitcast_to_have_different_size = options_.allow_bitcast_to_have_different_size;
  options.allow_unbounded_dynamism = options_.allow_unbounded_dynamism;
  options.verify_instruction_name_unchanged = options_.verify_instruction_name_unchanged;
  options.verify_no_host_memory_space = options_.verify_no_host_memory_space;
  options.verify_no_collective_deadlocks = options_.verify_no_collective_deadlocks;
  options.check_replica_groups = options_.check_replica_groups;
  options.max_errors = static_cast<int>(std::clamp<int64_t>(options_.max_errors, 1, 1'000'000));
  RETURN_IF_ERROR(Verify(module, options));
  RETURN_IF_ERROR(CheckConfigs(module, options.max_errors));
  return false;
}

HLO_DEFINE_PASS(HloVerifier)

}  // namespace hlo
