// Mode `passes`. For every text that is a valid module, and a few passes that its bytes choose:
//   - no pass breaks the module, or has an internal error
//   - none says that it changed nothing when it did, or keeps an analysis that became wrong
//   - none changes what the module computes, as far as a short run on the interpreter tells; what
//     may round in another way (kReassociate) moves no result further than noise does
//   - what comes out reads back
// New inputs are programs for several devices: those of mode `devices`, and of mode `spmd`.
#include <fmt/format.h>

#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "lib/support/hash.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/programs/device_program.h"
#include "tools/fuzz/random.h"
#include "tools/fuzz/random_pipeline.h"
#include "tools/fuzz/sensitivity.h"
#include "tools/support/equivalence_check.h"

namespace hlo {
namespace {

constexpr size_t kMostPasses = 5;

// A line of the input that names the passes itself, so that it stays the same input when passes are
// added.
constexpr std::string_view kPassesLine = "// PASSES: ";

std::string ChoosePasses(std::string_view input) {
  if (const size_t at = input.find(kPassesLine); at != std::string_view::npos) {
    const std::string_view rest = input.substr(at + kPassesLine.size());
    return std::string(rest.substr(0, rest.find('\n')));
  }
  FuzzRandom random(HashBytes(input));
  return RandomPipelineText(kMostPasses, random);
}

// A pass may refuse a module, with a reason, but not break it.
bool RefusesModule(const absl::Status& status, std::string_view message) {
  return IsRefusal(status) && message.find("broke") == std::string_view::npos;
}

bool Anywhere(const Module&) { return true; }
bool RoundsSums(const Module& module) {
  return ReducesNarrowFloats(module) || RoundsProducts(module);
}
// In a region that is manual along some axes, devices that should have equal values may not.
bool TellsPartitionsApart(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kPartitionId;
  });
}

bool Draws(const Module& module) {
  return AnyInstruction(
      module, [](const Instruction& instruction) { return instruction.opcode() == Opcode::kRng; });
}

// Where a pass whose name holds this may change results, and is not to blame; "": every pass.
struct Exemption {
  std::string_view pass;
  bool (*where)(const Module& module);
};
constexpr Exemption kExemptions[] = {
    {"", KeepsRandomState},
    {"", NamesAbsentDevices},
    {"", DeclaresTrips},
    {"all-reduce", CombinesInOtherTypes},
    {"float-normalization", CombinesInOtherTypes},
    // As XLA's, they round the sums of the first of two reductions.
    {"reduction-splitter", ReducesNarrowFloats},
    {"tree_reduction_rewriter", ReducesNarrowFloats},
    // As XLA's, they round sums at each step that a narrow reduction carries wide.
    {"float-normalization", ReducesNarrowFloats},
    {"element_type_converter", RoundsSums},
    // A sum that holds a mark is carried narrow, and wide without it.
    {"sharding-remover", ReducesNarrowFloats},
    // A sum of equal terms becomes a product, which is rounded once.
    {"algsimp", ReducesNarrowTuples},
    // A product becomes one of elements, each rounded, and their sum.
    {"algsimp", RoundsProducts},
    // As XLA's, it divides two products that f8 may not hold, or multiplies by an inverse.
    {"algsimp", HoldsNarrowestQuotients},
    // A slice whose place is constant, or of what is divided, is no longer moved to where a dynamic
    // array ends.
    {"dynamic_padder", ReadsAfterEnds},
    {"algsimp", ReadsAfterEnds},
    {"spmd-partitioner", ReadsAfterEnds},
    // Random numbers in another order are as good.
    {"algsimp", Draws},
    // What is declared dynamic, and is not, becomes static.
    {"dynamic_padder", DeclaresSizes},
    // As XLA's: what was f16 stays f16, and variances come back from 1/sqrt(variance + epsilon).
    {"cudnn_batchnorm_rewriter", Anywhere},
    // As XLA's, it takes the elements in the order in which they lie.
    {"reduction-layout-normalizer", DependsOnOrder},
    // As XLA's, it leaves out the roundings on the way.
    {"simplify-fp-conversions", HoldsNarrowestFloats},
    // What follows a convolution sees its result before it is rounded.
    {"cudnn-fused-convolution-rewriter", HoldsNarrowestFloats},
    // As XLA's, it scales by a power of two that they do not hold.
    {"stochastic_convert_decomposer", HoldsNarrowestFloats},
    // As XLA's, it rounds the sum that it divides by.
    {"logistic-expander", HoldsNarrowestFloats},
    // They multiply by the inverse of the diagonal, which may be 0 or none.
    {"triangular_solve_expander", HoldsFewNumbers},
    {"cholesky_expander", HoldsFewNumbers},
    // As XLA's, it sums in another order, which rounds otherwise.
    {"reduce-window-rewriter", HoldsNarrowestFloats},
    // Updates of one place are summed apart from it, rounded, and added.
    {"scatter_determinism_expander", HoldsNarrowestFloats},
    {"cublas-gemm-rewriter", AsksForRoundedOperands},
    {"element_type_converter", MixesTypesInDots},
    {"operand_upcaster", MixesTypesInDots},
    {"operand_converter", MixesTypesInDots},
    {"result_caster", MixesTypesInDots},
    {"stable-sort-expander", SortsByNoOrder},
    {"cudnn-fused-convolution-rewriter", ConvolvesToS8},
    {"eigh_expander", StopsBeforeEigenvalues},
    {"spmd-partitioner", RoundsSums},
    {"spmd-partitioner", DrawsOnSeveralDevices},
    {"spmd-partitioner", TellsPartitionsApart},
};

bool IsExempt(std::string_view passes, const Module& module) {
  return std::any_of(std::begin(kExemptions), std::end(kExemptions), [&](const Exemption& row) {
    return passes.find(row.pass) != std::string_view::npos && row.where(module);
  });
}

// Whether results that are beyond the tolerance of their type are what the passes may make of them:
// where small differences grow, or the signs of zeros, noise in every operation moves the results
// as far.
bool IsWithinNoise(std::string_view input, const Pipeline& pipeline,
                   const EquivalenceOptions& limits) {
  const absl::StatusOr<std::unique_ptr<Module>> before = ParseModule(std::string(input));
  const absl::StatusOr<std::unique_ptr<Module>> after = ParseModule(std::string(input));
  if (SafetyOf(pipeline) == kExact || !before.ok() || !after.ok()) return false;
  PassContext context;
  // A later pass refuses the module: there is no result to look at.
  if (!RunPipeline(pipeline, **after, context).ok()) return true;
  const std::vector<Literal> arguments = RandomArguments(**before, limits.first_seed);
  EquivalenceOptions more = limits;
  more.max_work *= kWorkOfNoise;
  const bool several = RunsOnSeveralDevices(**before);
  std::vector<Literal> by_device;  // of `before`
  // The results of all devices as one tuple.
  const auto run = [&](const Module& module) -> absl::StatusOr<Literal> {
    ASSIGN_OR_RETURN(std::vector<Literal> results,
                     RunOnInterpreter(module, limits.first_seed, arguments, more));
    RETURN_IF_ERROR(JoinIfPartitioned(module, by_device, results));
    if (by_device.empty()) by_device = results;
    if (!several) return std::move(results.front());
    return Literal::Tuple(std::move(results));
  };
  const absl::StatusOr<Literal> expected = run(**before);
  if (!expected.ok()) return false;
  const absl::StatusOr<Literal> actual = run(**after);
  if (!actual.ok()) return false;
  NoiseOptions noise = {
      .limits = limits, .everywhere = true, .only_zeros = SafetyOf(pipeline) == kExceptSpecials};
  if (several) noise.run = run;
  for (const bool thorough : {false, true}) {
    noise.thorough = thorough;
    if (DifferenceBeyondNoise(*actual, *expected, NoisyRuns(**before, arguments, noise)).empty())
      return true;
  }
  return false;
}

}  // namespace

std::string PassesFor(std::string_view input) {
  return fmt::format("passes: {}\n", ChoosePasses(input));
}

std::string WithPasses(std::string_view input) {
  if (input.find(kPassesLine) != std::string_view::npos) return std::string(input);
  return fmt::format("{}{}\n{}", kPassesLine, ChoosePasses(input), input);
}

std::string RandomInputOfPasses(FuzzRandom& random) {
  return random.OneIn(3) ? RandomShardedProgram(random) : RandomDeviceProgram(random);
}

std::string CheckPasses(std::string_view input) {
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(std::string(input));
  if (!parsed.ok()) return "";
  Module& module = **parsed;
  if (!Verify(module).ok() || IsLarge(module) || MislaysWhatIsUnderWay(module)) return "";
  const std::string passes = ChoosePasses(input);
  const absl::StatusOr<Pipeline> pipeline = ParsePipeline(passes);
  if (!pipeline.ok()) return "";
  Instrumentation instrumentation;
  instrumentation.check_changed_flag = true;
  instrumentation.check_analyses = true;
  const EquivalenceOptions limits = {.max_work = 200'000, .max_loop_iterations = 200};
  EquivalenceCheck equivalence(limits);
  equivalence.Start();
  if (!IsExempt(passes, module)) equivalence.AddTo(instrumentation);
  std::string failed;
  PassContext context;
  const absl::Status status =
      RunPipeline(*pipeline, module, context, instrumentation, [&](const FailureReport& report) {
        failed = report.pass;
      }).status();
  if (!status.ok()) {
    const std::string message = DiagnosticsOf(status).front().message;
    if (RefusesModule(status, message)) return "";
    if (absl::IsDataLoss(status) && IsWithinNoise(input, *pipeline, limits)) return "";
    return fmt::format("{}, code {}: of {}: {}", failed.empty() ? "the pipeline" : failed,
                       static_cast<int>(status.code()), passes, message);
  }
  PrintOptions print;
  print.large_constants = print.lossless = true;
  const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(ToText(module, print));
  if (again.ok()) return "";
  return fmt::format("print after {} is refused: {}", passes,
                     DiagnosticsOf(again.status()).front().message);
}

}  // namespace hlo
