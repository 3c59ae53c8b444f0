// Gives products of cuBLAS the algorithms that an autotuner found to be the fastest.
//
//   g = (f32[64,64], s8[4194304]) custom-call(a, b), custom_call_target="__cublas$lt$matmul",
//         backend_config={"gemm_backend_config":{…}}
//     =>   …{"gemm_backend_config":{"selected_algorithm":"7",…}}
//
// Without a device nothing is timed: results are read, and written, in the files of XLA
// (autotune_results.h). What a call is known by is its text without the choice.
//
// Options, as XLA's flags are called: `load_autotune_results_from`, a file; what is not in it keeps
// the choice it has. `require_complete_aot_autotune_results`: that is an error.
// `dump_autotune_results_to`: the choices of this module, those that were given with it as well.
// `device`: only results of this one, and under which name they are written.
//
// Requires: calls with what they work in (`cublas-gemm-rewriter`). Ensures: nothing.
#pragma once

#include "passes/gpu/algorithm_pickers.h"

namespace hlo {

class GemmAlgorithmPicker final : public WithOptions<Pass, AlgorithmPickerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
