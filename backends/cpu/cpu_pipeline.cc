#include "backends/cpu/cpu_pipeline.h"

#include "passes/pass_manager.h"

namespace hlo::cpu {

absl::Status RunPasses(Module& module, bool verify_each) {
  PassContext context;
  Instrumentation instrumentation;
  instrumentation.verify_each = verify_each;
  return RunPipelineText("default<cpu>", module, context, instrumentation).status();
}

}  // namespace hlo::cpu
