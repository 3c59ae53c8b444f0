// Checks the module and changes nothing; what is wrong is the error. The rules are listed in
// lib/ir/verifier.cc. Beside them the `backend_config` of calls of NVIDIA's libraries, where there
// is one, has to be what their target reads (passes/gpu/library_config.h):
//
//   in.hlo:5:122: error: the backend_config of `g` cannot be read: gemm_backend_config: epilogue:
//   `"FOO"` is none of DEFAULT, BIAS, …
//
// The pass manager verifies after every pass by itself; this pass is for checks with other options,
// such as layouts:
//
//   --passes=layout-assignment,hlo-verifier{layout-sensitive}
//   --passes=hlo-verifier{allow-mixed-precision=true,verify-reshape-is-bitcast}
//
// Without options it is as strict as XLA's: floats of different widths are refused.
#pragma once

#include "lib/ir/verifier.h"
#include "passes/pass.h"

namespace hlo {

// Those of the verifier that are no functions, under their names there.
struct HloVerifierOptions : VerifierOptions {
  HloVerifierOptions() { allow_mixed_precision = false; }
  int64_t error_limit = VerifierOptions().max_errors;  // of any size

  static auto Fields() {
    using O = HloVerifierOptions;
    return std::tuple{
        Optional("layout_sensitive", &O::layout_sensitive),
        Optional("allow_mixed_precision", &O::allow_mixed_precision),
        Optional("verify_broadcast_dims_order", &O::verify_broadcast_dims_order),
        Optional("verify_reshape_is_bitcast", &O::verify_reshape_is_bitcast),
        Optional("verify_call_nested_computation_thread_name",
                 &O::verify_call_nested_computation_thread_name),
        Optional("verify_sharding_device_numbers", &O::verify_sharding_device_numbers),
        Optional("allow_bitcast_to_have_different_size", &O::allow_bitcast_to_have_different_size),
        Optional("allow_unbounded_dynamism", &O::allow_unbounded_dynamism),
        Optional("verify_instruction_name_unchanged", &O::verify_instruction_name_unchanged),
        Optional("verify_no_host_memory_space", &O::verify_no_host_memory_space),
        Optional("verify_no_collective_deadlocks", &O::verify_no_collective_deadlocks),
        Optional("check_replica_groups", &O::check_replica_groups),
        Optional("max_errors", &O::error_limit)};
  }
};

class HloVerifier final : public WithOptions<Pass, HloVerifierOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
