// Mode `platforms`. For every valid module, on one platform (platform_config.h):
//   - it is compiled and run, or refused with a reason; nothing crashes, no check of ours fails
//   - the results are the interpreter's: bit by bit, but for what sums and the like may round in
//     another way (sensitivity.h)
// Inputs are mostly random programs (programs/random_program.h), the rest are changed seeds.
#include <fmt/format.h>

#include <optional>

#include "backends/registry.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/printer.h"
#include "lib/support/diagnostic.h"
#include "lib/types/shape_util.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/platform_config.h"
#include "tools/fuzz/sensitivity.h"
#include "tools/fuzz/xla_differences.h"
#include "tools/fuzz/xla_oracle.h"
#include "tools/support/random_arguments.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

constexpr EquivalenceOptions kLimits = {.max_work = 2'000'000, .max_loop_iterations = 200};
// The simulator takes hundreds of instructions for a step of the interpreter, most where it looks
// for races, and sums of a scatter look at every update for each result.
constexpr int64_t kMostSimulatedWork = 100'000;

std::vector<Literal> Arguments(const Module& module, const PlatformConfig& config) {
  if (!config.any_indices) return RandomArguments(module, config.inputs);
  const std::vector<ParameterLeaf> leaves = ParameterLeaves(*module.entry());
  std::vector<Literal> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    arrays.push_back(RandomLeaf(leaves[i].shape, {}, config.inputs, static_cast<int64_t>(i)));
  }
  return AssembleArguments(module, arrays);
}

// What a platform may say no with.
std::string Failed(const PlatformConfig& config, std::string_view what,
                   const absl::Status& status) {
  if (IsRefusal(status)) return "";
  return fmt::format("{} cannot {}, code {}: {}", config.platform, what,
                     static_cast<int>(status.code()), DiagnosticsOf(status).front().message);
}

std::string DifferenceOf(const Module& module, const std::vector<Literal>& arguments,
                         const PlatformConfig& config, const Literal& actual,
                         const Literal& expected) {
  std::string difference = DifferenceBeyondNoise(actual, expected, {});
  if (difference.empty()) return "";
  // The CPU reduces from left to right; the threads of a GPU in any order. XLA has functions of its
  // own.
  NoiseOptions noise = {.limits = kLimits,
                        .denormals = *config.Options().denormals,
                        .reorders = config.platform != "cpu",
                        .everywhere = config.platform == kXlaPlatform};
  if (noise.reorders && DependsOnOrder(module)) return "";
  for (const bool thorough : {false, true}) {
    noise.thorough = thorough;
    difference = DifferenceBeyondNoise(actual, expected, NoisyRuns(module, arguments, noise));
    if (difference.empty()) return "";
  }
  return fmt::format("{} computes something else: {}", config.platform, difference);
}

// The results of the platform, or in `failed` what is to be said of it, if anything.
std::optional<Literal> RunOn(const PlatformConfig& config, const Module& module,
                             const std::vector<Literal>& arguments, std::string& failed) {
  if (config.platform == kXlaPlatform) {
    PrintOptions print;
    print.large_constants = true;
    absl::StatusOr<Literal> result =
        RunOnXla(ToText(module, print), arguments, module.entry()->root()->shape());
    if (result.ok()) return *std::move(result);
    return std::nullopt;
  }
  const absl::StatusOr<Backend*> backend = FindBackend(config.platform);
  if (!backend.ok()) return std::nullopt;
  std::unique_ptr<Module> compiled = module.Clone();
  if (!config.passes.empty()) {
    // What is called once draws once, in an order that passes are free to choose.
    if (KeepsRandomState(module)) return std::nullopt;
    PassContext context;
    // Whether passes should refuse it is for mode `passes` to say.
    if (!RunPipelineText(config.passes, *compiled, context, {}).ok()) return std::nullopt;
  }
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      (*backend)->Compile(std::move(compiled), config.Options());
  if (!executable.ok()) {
    failed = Failed(config, "compile it", executable.status());
    return std::nullopt;
  }
  absl::StatusOr<Literal> result = (*executable)->Run(arguments, {});
  if (result.ok()) return *std::move(result);
  failed = Failed(config, "run it", result.status());
  return std::nullopt;
}

// The definition of what comes out. A module that the interpreter refuses or does not finish may do
// what it likes.
std::optional<Literal> Reference(const Module& module, const std::vector<Literal>& arguments,
                                 const PlatformConfig& config, std::string& failed) {
  EvalOptions eval;
  eval.denormals = *config.Options().denormals;
  eval.max_work = config.platform == "gpu-sim" ? kMostSimulatedWork : kLimits.max_work;
  eval.max_loop_iterations = kLimits.max_loop_iterations;
  absl::StatusOr<Literal> result = Evaluator(eval).Run(module, arguments);
  if (result.ok()) return *std::move(result);
  if (!absl::IsResourceExhausted(result.status()))
    failed = Failed({.platform = "interpreter"}, "run it", result.status());
  return std::nullopt;
}

}  // namespace

std::string DescribePlatforms(std::string_view input) {
  return fmt::format("{}\n", ConfigFor(input).ToString());
}

std::string CheckPlatforms(std::string_view input) {
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(std::string(input));
  if (!parsed.ok()) return "";
  DropMarksOfLoops(**parsed);
  const Module& module = **parsed;
  if (module.entry() == nullptr || !VerifyRunnable(module).ok() || IsLarge(module) ||
      RunsOnSeveralDevices(module) || DependsOnPlatform(module))
    return "";
  const PlatformConfig config = ConfigFor(input);
  if (config.platform == kXlaPlatform && !KnownXlaDifference(module).empty()) return "";
  const std::vector<Literal> arguments = Arguments(module, config);
  std::string failed;
  const std::optional<Literal> expected = Reference(module, arguments, config, failed);
  if (!expected) return failed;
  const std::optional<Literal> actual = RunOn(config, module, arguments, failed);
  if (!actual) return failed;
  return DifferenceOf(module, arguments, config, *actual, *expected);
}

}  // namespace hlo
