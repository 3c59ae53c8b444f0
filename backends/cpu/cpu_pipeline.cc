#include "backends/cpu/cpu_pipeline.h"

#include "passes/pass_manager.h"

namespace hlo::cpu {

absl::Status RunPasses(Module& module, const CompileOptions& options) {
  PassContext context;
  context.set_threads(options.threads);
  Instrumentation instrumentation;
  if (options.instrumentation != nullptr) instrumentation = *options.instrumentation;
  instrumentation.verify_each = options.verify_each_pass;
  return RunPipelineText("default<cpu>", module, context, instrumentation).status();
}

}  // namespace hlo::cpu
