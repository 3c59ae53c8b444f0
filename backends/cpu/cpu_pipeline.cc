#include "backends/cpu/cpu_pipeline.h"

#include "passes/pass_manager.h"

namespace hlo::cpu {

absl::Status RunPasses(Module& module, bool verify_each, int threads) {
  PassContext context;
  context.set_threads(threads);
  Instrumentation instrumentation;
  instrumentation.verify_each = verify_each;
  return RunPipelineText("default<cpu>", module, context, instrumentation).status();
}

}  // namespace hlo::cpu
