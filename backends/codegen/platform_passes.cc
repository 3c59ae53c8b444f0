#include "backends/codegen/platform_passes.h"

#include "backends/codegen/row_major.h"
#include "lib/ir/printer.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "passes/pass_manager.h"

namespace hlo {
namespace {

// What buffer assignment cannot do without; changes nothing where it has run before.
constexpr std::string_view kAlways = "copy-insertion{dense}";

}  // namespace

absl::Status RunPlatformPasses(std::string_view pipeline, Module& module,
                               const CompileOptions& options, CompileStats& stats) {
  const Stopwatch passes;
  PassContext context;
  context.set_threads(options.threads);
  Instrumentation instrumentation;
  if (options.instrumentation != nullptr) instrumentation = *options.instrumentation;
  instrumentation.verify_each = options.verify_each_pass;
  ASSIGN_OR_RETURN(
      const PipelineResult result,
      RunPipelineText(options.run_passes ? pipeline : kAlways, module, context, instrumentation));
  stats.verify_ms = result.verify_milliseconds;
  stats.passes_ms = passes.milliseconds() - stats.verify_ms;
  if (options.Wants(EmitStage::kHlo)) options.emit_sink(EmitStage::kHlo, ToText(module));
  return CheckRowMajor(module);
}

}  // namespace hlo
