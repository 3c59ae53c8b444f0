// Mode `spmd`. For every text that is a valid module of several partitions, with shardings:
//   - spmd-partitioner takes it, or says why not; what comes out is valid
//   - its partitions, given the parts of the inputs, have the parts of the results that the module
//     has without partitions; sums may round in another way
//   - the same after sharding-propagation
// New inputs are random programs with random shardings (sharded_programs.cc).
#include <fmt/format.h>

#include "lib/eval/device_group.h"
#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/diagnostic.h"
#include "lib/types/shape_util.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "passes/spmd/device_parts.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/sensitivity.h"
#include "tools/support/random_arguments.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

constexpr EquivalenceOptions kSpmdLimits = {.max_work = 200'000, .max_loop_iterations = 200};
constexpr int64_t kMostPartitions = 16;
constexpr std::string_view kSpmdPipelines[] = {"spmd-partitioner",
                                               "sharding-propagation,spmd-partitioner"};

// Regions in which the program sees to the devices itself need not fit together, unless all of
// their devices have the whole.
bool SeesDevices(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kPartitionId) return true;
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  if (instruction.operand_count() == 1 && instruction.sharding() != nullptr &&
      SameDimensions(instruction.shape(), instruction.operand(0)->shape()))
    return false;
  const std::string_view target = instruction.attrs<CustomCallAttrs>().custom_call_target;
  return target.starts_with("SPMD") || target.starts_with("Shard");
}

// Dynamic sizes, which nobody divides; constants whose values are not there.
bool IsLeftOut(const Instruction& instruction) {
  return instruction.shape().has_dynamic_dims() ||
         (instruction.IsConstant() && instruction.literal().is_elided());
}

bool HoldsOnlyDivided(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (SeesDevices(*instruction) || IsLeftOut(*instruction)) return false;
    }
  }
  return true;
}

// The results of one replica, with its partitions together.
absl::StatusOr<Literal> RunPartitioned(const Module& module, const std::vector<Literal>& arguments,
                                       Shape whole) {
  ASSIGN_OR_RETURN(const auto parts, CutArguments(module, arguments));
  EvalOptions options;
  options.seed = kSpmdLimits.first_seed;
  ASSIGN_OR_RETURN(const std::vector<Literal> results, EvaluateOnDevices(module, parts, options));
  ASSIGN_OR_RETURN(const std::vector<Literal> joined, JoinResults(module, results, whole));
  return joined.front();
}

std::string CheckPipeline(std::string_view pipeline_text, const Module& module, const Module& whole,
                          const std::vector<Literal>& arguments, const Literal& expected) {
  const auto finding = [&](std::string_view what, const absl::Status& status) {
    return fmt::format("{} {}, code {}: {}", pipeline_text, what, static_cast<int>(status.code()),
                       DiagnosticsOf(status).front().message);
  };
  const std::unique_ptr<Module> made = module.Clone();
  const absl::StatusOr<Pipeline> pipeline = ParsePipeline(std::string(pipeline_text));
  if (!pipeline.ok()) return finding("is no pipeline", pipeline.status());
  PassContext context;
  const absl::Status status = RunPipeline(*pipeline, *made, context).status();
  if (!status.ok()) {
    // A mesh of other devices than the module has; a manual region that is just left; what only has
    // a meaning in one.
    const std::string message = DiagnosticsOf(status).front().message;
    const bool is_refusal = message.find(": the sharding {") != std::string::npos ||
                            message.find(": a device has `") != std::string::npos ||
                            message.find("outside of a manual region") != std::string::npos ||
                            message.find("only in a manual region") != std::string::npos;
    return is_refusal ? "" : finding("fails", status);
  }
  const absl::StatusOr<Literal> actual = RunPartitioned(*made, arguments, expected.shape());
  // Parts that nobody reads are computed, too, with operations that nobody defined.
  if (absl::IsUnimplemented(actual.status())) return "";
  if (!actual.ok()) return finding("makes what cannot be run", actual.status());
  std::string difference = DifferenceBeyondNoise(*actual, expected, {});
  NoiseOptions noise = {.limits = kSpmdLimits, .reorders = true};
  for (const bool thorough : {false, true}) {
    if (difference.empty()) return "";
    noise.thorough = thorough;
    difference = DifferenceBeyondNoise(*actual, expected, NoisyRuns(whole, arguments, noise));
  }
  // Where there is no infinity, sums end at the largest number, sooner or later in another order.
  if (ReducesNarrowFloats(whole) || RoundsProducts(whole)) return "";
  return difference.empty() ? "" : fmt::format("{}: {}", pipeline_text, difference);
}

}  // namespace

std::string CheckSpmd(std::string_view input) {
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(std::string(input));
  if (!parsed.ok()) return "";
  const Module& module = **parsed;
  const int64_t partitions = module.config().num_partitions;
  if (module.entry() == nullptr || partitions < 2 || partitions > kMostPartitions ||
      module.config().replica_count != 1 || !VerifyRunnable(module).ok() || IsLarge(module) ||
      KeepsRandomState(module) || TakesGroupSizes(module) || DependsOnOrder(module) ||
      !HoldsOnlyDivided(module))
    return "";
  const std::unique_ptr<Module> whole = module.Clone();
  whole->config().num_partitions = 1;
  if (!VerifyRunnable(*whole).ok() || RunsOnSeveralDevices(*whole)) return "";
  const std::vector<Literal> arguments = RandomArguments(*whole, kSpmdLimits.first_seed);
  const absl::StatusOr<std::vector<Literal>> expected =
      RunOnInterpreter(*whole, kSpmdLimits.first_seed, arguments, kSpmdLimits);
  if (!expected.ok()) return "";
  for (const std::string_view pipeline : kSpmdPipelines) {
    const std::string finding =
        CheckPipeline(pipeline, module, *whole, arguments, expected->front());
    if (!finding.empty()) return finding;
  }
  return "";
}

}  // namespace hlo
