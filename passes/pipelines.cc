#include "passes/pipelines.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr PipelineStep kCpu[] = {
    {"library-call-expander", "what NVIDIA's libraries would compute is what they stand for"},
    {"buffers-to-arrays", "buffer assignment decides what is written in place"},
    {"collective-starts-to-async", "what devices exchange runs beside other work as all else does"},
    {"async-to-call{background_us=50}", "early: all else sees calls, of which some are marked"},
    {"annotation-remover", "partitioning is over; what only annotates is in the way of fusion"},
    {"select-and-scatter-expander", "its two halves are kernels; first, its picker makes a call"},
    {"bitcast-expander", "what layouts move is moved by instructions"},
    {"row-major-layouts", "and nothing reads a layout any more"},
    {"dynamic-size-handover", "in memory an array of dynamic size has its sizes with it"},
    {"dynamic-index-splitter", "kernels take starts one by one"},
    {"result_caster{other_kinds_only}", "products are summed in one kind of number"},
    {"reduction-widener", "narrow floats are carried wide where several operations combine them"},
    {"call-inliner", "kernels do not span calls; JAX wraps every jitted helper in one"},
    {"defuser{target=cpu}", "given fusions that no kernel computes as they are"},
    {"tuple-simplifier", "values should be seen, not the tuples they travel in"},
    {"dce", "less work for everything after"},
    {"cse", "JAX repeats constants and broadcasts"},
    {"constant_folding", "what is known now need not be computed at each run"},
    {"algsimp{exact}", "identities; shapes in fewer steps, which the fusion sees through"},
    {"dce", "operands of folded instructions"},
    {"while-loop-invariant-code-motion", "after the inliner: it sees whole bodies"},
    {"convolution-operand-swap", "the library would multiply padding"},
    {"transpose-folding{convolutions=false}", "the library reads matrices either way"},
    {"dot-simplifier", "and writes them either way; outer products are loops"},
    {"dce", "transposes that nobody reads any more"},
    {"cpu-small-dots", "a small loop is one function when all of it is kernels"},
    {"flatten-call-graph", "buffer assignment wants one call site per computation"},
    {"cpu-fusion", "last: makes the kernels that the back end emits as they are"},
    {"dce", "producers that were copied into all their users"},
    {"call-to-async", "what is worth a thread: by then its computation is what will run"},
    {"optimize_input_output_buffer_alias", "outputs are made in what is donated"},
    {"copy-insertion{dense}", "fixes the order, and copies what would be overwritten"},
};

constexpr PipelineStep kGpu[] = {
    {"library-call-expander{keep_ptx}",
     "what NVIDIA's libraries would compute is what they stand for"},
    {"buffers-to-arrays", "buffer assignment decides what is written in place"},
    {"async-to-call", "one thing at a time; early, so that all else sees plain calls"},
    {"annotation-remover", "partitioning is over; what only annotates is in the way of fusion"},
    {"select-and-scatter-expander", "its two halves are kernels; first, its picker makes a call"},
    {"batchnorm_expander", "its statistics are reductions, the rest is elementwise"},
    {"bitcast-expander", "what layouts move is moved by instructions"},
    {"row-major-layouts", "and nothing reads a layout any more"},
    {"dynamic-size-handover", "in memory an array of dynamic size has its sizes with it"},
    {"dynamic-index-splitter", "kernels take starts one by one"},
    {"result_caster{other_kinds_only}", "products are summed in one kind of number"},
    {"reduction-widener", "narrow floats are carried wide where several operations combine them"},
    {"call-inliner", "kernels do not span calls; JAX wraps every jitted helper in one"},
    {"dot-simplifier",
     "outer products are loops, whose zeros keep their signs; inside fusions, too"},
    {"defuser{target=gpu}", "given fusions that no kernel computes as they are"},
    {"tuple-simplifier", "values should be seen, not the tuples they travel in"},
    {"dce", "less work for everything after"},
    {"cse", "JAX repeats constants and broadcasts"},
    {"constant_folding", "what is known now need not be computed at each run"},
    {"dce", "operands of folded instructions"},
    {"while-loop-invariant-code-motion", "after the inliner: it sees whole bodies"},
    {"while-loop-trip-count-annotator", "loops that are counted need no look at a predicate"},
    {"transpose-folding{convolutions=false}", "products read matrices either way"},
    {"dot-simplifier", "and write them either way"},
    {"dce", "transposes that nobody reads any more"},
    {"flatten-call-graph", "buffer assignment wants one call site per computation"},
    {"gpu-epilogue-fusion{leave_to_library}",
     "first: products take what follows them, the rest is loops"},
    {"gpu-fusion", "makes the kernels; a reduction ends the one that feeds it"},
    {"gpu-multi-output-fusion", "after it: what reads the same array reads it once"},
    {"dce", "producers that were copied into all their users"},
    {"optimize_input_output_buffer_alias", "outputs are made in what is donated"},
    {"copy-insertion{dense}", "fixes the order, and copies what would be overwritten"},
};

// In the order of XLA's compiler for GPUs; what XLA replaced stands where it stood.
constexpr PipelineStep kGpuLibrary[] = {
    {"cudnn-custom-call-converter", "calls that are marked for cuDNN are fusions"},
    {"flatten-call-graph,call-inliner", "one computation at a time, before all else"},
    {"zero_sized_hlo_elimination,conditional-canonicalizer", "fewer cases for what follows"},
    {"topk-rewriter", "sorts of which few are read"},
    {"sharding-remover,dce", "partitioning is over"},
    {"batched_gather_scatter_normalizer,topk-splitter,topk-specializer,topk-decomposer",
     "a kernel for long rows, sorts for the others"},
    {"dot_dimension_sorter,dot_decomposer", "products in the one form that libraries take"},
    {"result_caster{leave_library_products},operand_upcaster{leave_library_products},"
     "operand_converter",
     "products of one kind of number; the libraries take others, too"},
    {"rng-expander,rng-bit-generator-expander{default_algorithm=philox}", "arithmetic"},
    {"sort-rewriter", "long sorts of numbers are CUB's"},
    {"comparison-expander,zero_sized_hlo_elimination", "total orders are integers"},
    {"select_and_scatter_expander", "a selection and a scatter"},
    {"cusolver-rewriter,triangular-solve-rewriter", "before what would write them out"},
    {"qr_expander,eigh_expander,dynamic-index-splitter,call-inliner", "what has no kernel"},
    {"stochastic_convert_decomposer,convolution_4d_expander,convolution-pred-expander",
     "convolutions that cuDNN has"},
    {"batchnorm_expander,logistic-expander,conditional-canonicalizer", "elementwise operations"},
    {"dynamic-dimension-simplifier,dynamic_padder,stable-sort-expander", "static shapes"},
    {"fix(zero_sized_hlo_elimination,gather_simplifier,gather_expander{simple},scatter_simplifier,"
     "scatter_expander{simple},scatter-slice-simplifier,algsimp,simplify-sorts,tuple-simplifier,"
     "while-loop-constant-sinking,simplify-while-loops,slice-sinker,"
     "reshape-mover{reshape_of_1d_broadcast_is_cheap},constant_folding,simplify-conditional,"
     "transpose-folding{convolutions=false},cse,dce)",
     "simplification"},
    {"dot-merger,transpose-folding{convolutions=false}", "one product of several"},
    {"convert-mover,fix(algsimp),computation-deduplicator", "conversions where they cost least"},
    {"all-reduce-simplifier,all-reduce-folder,reduce-scatter-creator,dce", "collectives"},
    {"while-loop-trip-count-annotator", "while loops still look like loops"},
    {"float-normalization-bf16{support=gpu}", "bf16 only where the GPU computes in it"},
    {"conv-rewriter,cudnn-fused-convolution-rewriter,conv-padding-legalization,"
     "cudnn_pad_for_convolutions",
     "cuDNN's calls: first what they do, then what they need"},
    {"call-inliner,tuple-simplifier,fix(algsimp),constant_folding", "what the calls left behind"},
    {"flatten-call-graph,layout-assignment{platform=none},optimize_input_output_buffer_alias",
     "layouts with the fewest copies; our kernels and the libraries take strides"},
    {"reshape-decomposer,fix(move_copy_to_users),layout_normalization,"
     "fix(algsimp{is_layout_sensitive}),broadcast_canonicalizer,scatter_simplifier",
     "all else is row-major again"},
    {"cublas-pad-for-gemms{datatype=s8,pad_to_multiple_of=4},"
     "cublas-pad-for-gemms{datatype=f16,pad_to_multiple_of=8},"
     "cublas-pad-for-gemms{datatype=bf16,pad_to_multiple_of=8},constant_folding",
     "sizes that tensor cores take"},
    {"dot_dimension_merger,fix(algsimp{is_layout_sensitive}),bitcast_dtypes_expander,"
     "transpose-folding{convolutions=false},reshape-decomposer,reduce-decomposer,dot_normalizer,"
     "dot-algorithm-rewriter",
     "products as the next pass looks for them"},
    {"cublas-gemm-rewriter{dtype=fp8},cublas-gemm-rewriter,"
     "cublas-gemm-broadcast-folding-rewriter",
     "cuBLAS's calls"},
    {"reshape-decomposer,layout_normalization,fix(algsimp{is_layout_sensitive}),"
     "scatter_simplifier,broadcast_canonicalizer",
     "what the calls left behind"},
    {"reduction-degenerate-dim-remover,reduction-layout-normalizer,reduction-dimension-grouper,"
     "fix(reduction-splitter),fix(tree-reduction-rewriter)",
     "reductions that one kernel computes; each pass relies on those before it"},
    {"float-normalization-bf16{support=gpu},tuple-simplifier,fix(algsimp{is_layout_sensitive}),"
     "simplify-fp-conversions,cse{is_layout_sensitive}",
     "the last look at single operations"},
    {"variadic-op-splitter,priority-fusion,cse{is_layout_sensitive},dce,"
     "multi_output_fusion{platform=gpu},cse{is_layout_sensitive},dce",
     "kernels: vertically, then of what reads the same"},
    {"horizontal_loop_fusion,horizontal_input_fusion,cse{is_layout_sensitive},dce",
     "and of what is small"},
    {"all-gather-combiner,all-reduce-combiner,reduce-scatter-combiner,collective-permute-combiner,"
     "dce,tuple-simplifier",
     "fewer collectives"},
    {"gpu-conv-algorithm-picker,gemm-algorithm-picker", "the calls are as they will run"},
    {"alias_passthrough_params", "before copies are made for what could be in place"},
    {"copy-insertion,copy_fusion,sanitize-constant-names", "nothing changes after it but order"},
    {"hlo-memory-scheduler", "the order"},
};

// What XLA's platforms have in common before they look at layouts, without what one of them wants
// in a form of its own.
constexpr PipelineStep kFrontend[] = {
    {"flatten-call-graph,call-inliner", "one computation at a time, before all else"},
    {"zero_sized_hlo_elimination,conditional-canonicalizer", "fewer cases for what follows"},
    {"dot_decomposer,dynamic-index-splitter,map-inline", "one form of each operation"},
    {"rng-expander,rng-bit-generator-expander{default_algorithm=philox}", "arithmetic"},
    {"cholesky_expander,triangular_solve_expander,batchnorm_expander,logistic-expander",
     "composite operations become simple ones"},
    {"dynamic_padder,stable-sort-expander", "static shapes, and one kind of sort"},
    {"fix(algsimp,simplify-sorts,tuple-simplifier,while-loop-constant-sinking,simplify-while-loops,"
     "while-loop-invariant-code-motion,slice-sinker,reshape-mover,constant_folding,"
     "simplify-conditional,transpose-folding,cse,dce,hlo-module-dce)",
     "each makes work for the others"},
    {"while-loop-trip-count-annotator,dce", "loops that will not change any more"},
};

constexpr PipelineStep kSimplify[] = {
    {"call-inliner", "the others look at one computation at a time"},
    {"fix(tuple-simplifier,constant_folding,cse,dce)", "each makes work for the others"},
};

constexpr PipelineStep kSpmd[] = {
    {"shardy-xla", "JAX says shardings in Shardy's attributes"},
    {"sharding-propagation", "what is not said follows from what is"},
    {"spmd-partitioner", "the program that each partition runs"},
};

constexpr NamedPipeline kPipelines[] = {
    {"default<cpu>", "what the CPU platform runs before it generates code", kCpu},
    {"default<gpu>", "what the GPU platform runs before it generates code", kGpu},
    {"default<gpu,library>", "XLA's passes for GPUs, which call NVIDIA's libraries", kGpuLibrary},
    {"frontend", "expand and simplify, for any platform", kFrontend},
    {"simplify", "inline, fold and remove until nothing changes", kSimplify},
    {"spmd", "divide a module among partitions as shardings say", kSpmd},
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
