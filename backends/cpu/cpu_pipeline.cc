#include "backends/cpu/cpu_pipeline.h"

#include <string>

#include "passes/pass_manager.h"

namespace hlo::cpu {
namespace {

struct Step {
  std::string_view pass;
  std::string_view reason;
};

constexpr Step kSteps[] = {
    {"select-and-scatter-expander", "its two halves are kernels; first, its picker makes a call"},
    {"call-inliner", "kernels do not span calls; JAX wraps every jitted helper in one"},
    {"tuple-simplifier", "values should be seen, not the tuples they travel in"},
    {"dce", "less work for everything after"},
    {"cse", "JAX repeats constants and broadcasts"},
    {"constant_folding", "what is known now need not be computed at each run"},
    {"dce", "operands of folded instructions"},
    {"flatten-call-graph", "buffer assignment wants one call site per computation"},
    {"cpu-fusion", "last: makes the kernels that the back end emits as they are"},
    {"dce", "producers that were copied into all their users"},
};

}  // namespace

std::string_view PipelineText() {
  static const std::string text = [] {
    std::string joined;
    for (const Step& step : kSteps) {
      if (!joined.empty()) joined += ',';
      joined += step.pass;
    }
    return joined;
  }();
  return text;
}

absl::Status RunPasses(Module& module, bool verify_each) {
  PassContext context;
  Instrumentation instrumentation;
  instrumentation.verify_each = verify_each;
  return RunPipelineText(PipelineText(), module, context, instrumentation).status();
}

}  // namespace hlo::cpu
