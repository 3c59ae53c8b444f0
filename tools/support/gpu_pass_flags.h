// Flags of XLA that decide options of passes for GPUs, and which passes its compiler runs.
//
//   hlo-opt f.hlo --passes='default<gpu,library>' --xla_gpu_enable_cublaslt=false --target=h100_sxm
//     runs … cublas-gemm-rewriter{enable_cublaslt=false,compute_capability=9.0} …
//
// Options: a flag is the default of an option; so is the GPU that is compiled for, of every option
// `compute_capability` and of the `device` of some. What the pipeline says itself wins.
// Passes: what XLA's compiler leaves out or adds is left out of `default<gpu,library>`, or added
// there; passes that the user names run. `default<cpu>` has other flags.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "passes/pipeline.h"
#include "tools/support/flags.h"
#include "tools/support/gpu_target.h"

namespace hlo {

class GpuPassFlags {
 public:
  // Declares them as a group of the help; their values come here, so this must not move until they
  // are parsed.
  void AddTo(Flags& flags);

  // ParsePipeline, and what the flags and the GPU say of its passes.
  absl::StatusOr<Pipeline> Parse(std::string_view text, const GpuProperties& gpu) const;

 private:
  std::map<std::string_view, std::string> values_;  // by XLA's name; empty: not given
};

}  // namespace hlo
