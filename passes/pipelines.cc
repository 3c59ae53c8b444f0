#include "passes/pipelines.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr PipelineStep kCpu[] = {
    {"library-call-expander", "what NVIDIA's libraries would compute is what they stand for"},
    {"buffers-to-arrays", "buffer assignment decides what is written in place"},
    {"async-to-call{background_us=50}", "early: all else sees calls, of which some are marked"},
    {"annotation-remover", "partitioning is over; what only annotates is in the way of fusion"},
    {"select-and-scatter-expander", "its two halves are kernels; first, its picker makes a call"},
    {"bitcast-expander", "what layouts move is moved by instructions"},
    {"row-major-layouts", "and nothing reads a layout any more"},
    {"dynamic-index-splitter", "kernels take starts one by one"},
    {"result_caster{other_kinds_only}", "products are summed in one kind of number"},
    {"reduction-widener", "narrow floats are carried wide where several operations combine them"},
    {"call-inliner", "kernels do not span calls; JAX wraps every jitted helper in one"},
    {"defuser{target=cpu}", "given fusions that no kernel computes as they are"},
    {"tuple-simplifier", "values should be seen, not the tuples they travel in"},
    {"dce", "less work for everything after"},
    {"cse", "JAX repeats constants and broadcasts"},
    {"constant_folding", "what is known now need not be computed at each run"},
    {"dce", "operands of folded instructions"},
    {"while-loop-invariant-code-motion", "after the inliner: it sees whole bodies"},
    {"convolution-operand-swap", "the library would multiply padding"},
    {"cpu-small-dots", "a small loop is one function when all of it is kernels"},
    {"flatten-call-graph", "buffer assignment wants one call site per computation"},
    {"cpu-fusion", "last: makes the kernels that the back end emits as they are"},
    {"dce", "producers that were copied into all their users"},
    {"call-to-async", "what is worth a thread: by then its computation is what will run"},
    {"optimize_input_output_buffer_alias", "outputs are made in what is donated"},
    {"copy-insertion{dense}", "fixes the order, and copies what would be overwritten"},
};

constexpr PipelineStep kGpu[] = {
    {"library-call-expander", "what NVIDIA's libraries would compute is what they stand for"},
    {"buffers-to-arrays", "buffer assignment decides what is written in place"},
    {"async-to-call", "one thing at a time; early, so that all else sees plain calls"},
    {"annotation-remover", "partitioning is over; what only annotates is in the way of fusion"},
    {"select-and-scatter-expander", "its two halves are kernels; first, its picker makes a call"},
    {"batchnorm_expander", "its statistics are reductions, the rest is elementwise"},
    {"bitcast-expander", "what layouts move is moved by instructions"},
    {"row-major-layouts", "and nothing reads a layout any more"},
    {"dynamic-index-splitter", "kernels take starts one by one"},
    {"result_caster{other_kinds_only}", "products are summed in one kind of number"},
    {"reduction-widener", "narrow floats are carried wide where several operations combine them"},
    {"call-inliner", "kernels do not span calls; JAX wraps every jitted helper in one"},
    {"defuser{target=gpu}", "given fusions that no kernel computes as they are"},
    {"tuple-simplifier", "values should be seen, not the tuples they travel in"},
    {"dce", "less work for everything after"},
    {"cse", "JAX repeats constants and broadcasts"},
    {"constant_folding", "what is known now need not be computed at each run"},
    {"dce", "operands of folded instructions"},
    {"flatten-call-graph", "buffer assignment wants one call site per computation"},
    {"gpu-epilogue-fusion", "first: products take what follows them, the rest is loops"},
    {"gpu-fusion", "makes the kernels; a reduction ends the one that feeds it"},
    {"gpu-multi-output-fusion", "after it: what reads the same array reads it once"},
    {"dce", "producers that were copied into all their users"},
    {"optimize_input_output_buffer_alias", "outputs are made in what is donated"},
    {"copy-insertion{dense}", "fixes the order, and copies what would be overwritten"},
};

constexpr PipelineStep kSimplify[] = {
    {"call-inliner", "the others look at one computation at a time"},
    {"fix(tuple-simplifier,constant_folding,cse,dce)", "each makes work for the others"},
};

constexpr NamedPipeline kPipelines[] = {
    {"default<cpu>", "what the CPU platform runs before it generates code", kCpu},
    {"default<gpu>", "what the GPU platform runs before it generates code", kGpu},
    {"simplify", "inline, fold and remove until nothing changes", kSimplify},
};

}  // namespace

std::string NamedPipeline::Text() const {
  std::string text;
  for (const PipelineStep& step : steps) {
    if (!text.empty()) text += ',';
    text += step.text;
  }
  return text;
}

std::span<const NamedPipeline> AllPipelines() { return kPipelines; }

const NamedPipeline* FindPipeline(std::string_view name) {
  const auto* it = std::find_if(std::begin(kPipelines), std::end(kPipelines),
                                [&](const NamedPipeline& row) { return row.name == name; });
  return it == std::end(kPipelines) ? nullptr : it;
}

}  // namespace hlo
