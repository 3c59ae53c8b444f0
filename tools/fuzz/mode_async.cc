// Mode `async`. Random programs of chains that run beside each other (programs/random_async.h), on
// one or several devices of one process. For every valid module on the CPU, after passes that the
// bytes of the input choose:
//   - it comes to its end: nothing waits for ever
//   - every device has what the interpreter computes, which does one thing after the other; sums may
//     be rounded in another way (sensitivity.h)
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/registry.h"
#include "lib/eval/device_group.h"
#include "lib/support/diagnostic.h"
#include "lib/support/hash.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/sensitivity.h"
#include "tools/support/random_arguments.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

// So long no program of this mode takes, on a machine as busy as one likes.
constexpr std::chrono::seconds kHang{60};
constexpr size_t kMostAsyncDevices = 8;
constexpr EquivalenceOptions kAsyncLimits = {.max_work = 1'000'000, .max_loop_iterations = 100};

// Ends the process when it lives too long: processor time says nothing of what waits.
class HangLimit final {
 public:
  HangLimit() : thread_([this] { Watch(); }) {}
  ~HangLimit() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  HangLimit(const HangLimit&) = delete;
  HangLimit& operator=(const HangLimit&) = delete;

 private:
  void Watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kHang, [this] { return is_over_; })) return;
    fmt::print(stderr, "mode async: the program hangs\n");
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

struct AsyncConfig {
  std::string passes;
  CompileOptions compile;
};

AsyncConfig AsyncConfigFor(std::string_view input) {
  constexpr std::string_view kPasses[] = {
      "",
      "",
      "latency-hiding-scheduler{platform=cpu}",
      "async-collective-creator,latency-hiding-scheduler{platform=cpu}",
      "convert-async-collectives-to-sync",
      "flatten-call-graph,while-loop-invariant-code-motion,cse,dce",
  };
  FuzzRandom random(HashBytes(input, 0));
  AsyncConfig config;
  config.passes = std::string(kPasses[random.Below(std::size(kPasses))]);
  config.compile.denormals = Denormals::kKeep;
  config.compile.threads = static_cast<int>(1 + random.Below(3));
  config.compile.cpu.kernels = random.OneIn(40) ? CpuKernels::kLlvm : CpuKernels::kEvaluate;
  config.compile.cpu.checks = random.OneIn(2) ? CpuChecks::kAll : CpuChecks::kNone;
  return config;
}

std::string FirstMessage(const absl::Status& status) {
  return DiagnosticsOf(status).front().message;
}

EvalOptions AsyncEval() {
  EvalOptions eval;
  eval.max_work = kAsyncLimits.max_work;
  eval.max_loop_iterations = kAsyncLimits.max_loop_iterations;
  return eval;
}

// "" when the results of `device` are the expected ones; all devices run with noise, too.
std::string DifferenceOn(size_t device, const Module& module,
                         const std::vector<std::vector<Literal>>& arguments, const Literal& actual,
                         const Literal& expected) {
  std::string difference = DifferenceBeyondNoise(actual, expected, {});
  NoiseOptions noise = {.limits = kAsyncLimits};
  if (arguments.size() > 1) {
    noise.run = [&](const Module& noisy) -> absl::StatusOr<Literal> {
      ASSIGN_OR_RETURN(std::vector<Literal> results,
                       EvaluateOnDevices(noisy, arguments, AsyncEval()));
      return std::move(results[device]);
    };
  }
  for (const bool thorough : {false, true}) {
    if (difference.empty()) return "";
    noise.thorough = thorough;
    difference =
        DifferenceBeyondNoise(actual, expected, NoisyRuns(module, arguments[device], noise));
  }
  return difference;
}

}  // namespace

std::string DescribeAsync(std::string_view input) {
  const AsyncConfig config = AsyncConfigFor(input);
  return fmt::format("passes={} threads={} kernels={} checks={}\n", config.passes,
                     config.compile.threads,
                     config.compile.cpu.kernels == CpuKernels::kLlvm ? "llvm" : "evaluate",
                     config.compile.cpu.checks == CpuChecks::kAll ? "all" : "none");
}

std::string CheckAsync(std::string_view input) {
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(std::string(input));
  if (!parsed.ok()) return "";
  DropMarksOfLoops(**parsed);
  const Module& module = **parsed;
  if (module.entry() == nullptr || !VerifyRunnable(module).ok() || IsLarge(module) ||
      NamesAbsentDevices(module) || KeepsRandomState(module) || DependsOnOrder(module) ||
      DependsOnPlatform(module))
    return "";
  const DeviceMesh mesh{module.config().replica_count, module.config().num_partitions};
  if (mesh.devices() > static_cast<int64_t>(kMostAsyncDevices)) return "";
  const HangLimit limit;
  std::vector<std::vector<Literal>> arguments;
  for (int64_t device = 0; device < mesh.devices(); ++device)
    arguments.push_back(RandomArguments(module, 7 + static_cast<uint64_t>(device)));
  const auto expected = EvaluateOnDevices(module, arguments, AsyncEval());
  if (!expected.ok()) return "";  // refused, too much, or devices that do not meet
  const AsyncConfig config = AsyncConfigFor(input);
  std::unique_ptr<Module> copy = module.Clone();
  PassContext context;
  if (!config.passes.empty()) {
    const absl::Status passed = RunPipelineText(config.passes, *copy, context, {}).status();
    if (!passed.ok()) return fmt::format("passes `{}`: {}", config.passes, FirstMessage(passed));
  }
  const absl::StatusOr<Backend*> backend = FindBackend("cpu");
  if (!backend.ok()) return "";
  const auto executable = (*backend)->Compile(std::move(copy), config.compile);
  if (!executable.ok()) {
    return IsRefusal(executable.status())
               ? ""
               : "cannot be compiled: " + FirstMessage(executable.status());
  }
  RunOptions options;
  options.max_loop_iterations = kAsyncLimits.max_loop_iterations;
  const auto actual = RunOnDevices(module,
                                   [&](int64_t replica, int64_t partition,
                                       Communicator& communicator) -> absl::StatusOr<Literal> {
                                     RunOptions own = options;
                                     own.replica_id = replica;
                                     own.partition_id = partition;
                                     if (mesh.devices() > 1) own.communicator = &communicator;
                                     const auto device =
                                         static_cast<size_t>(replica * mesh.partitions + partition);
                                     return (*executable)->Run(arguments[device], own);
                                   });
  // A step that nobody reads may need a device that is not there: the interpreter leaves it out.
  if (!actual.ok())
    return IsRefusal(actual.status()) ? "" : "cannot be run: " + FirstMessage(actual.status());
  for (size_t device = 0; device < actual->size(); ++device) {
    const std::string difference =
        DifferenceOn(device, module, arguments, (*actual)[device], (*expected)[device]);
    if (!difference.empty())
      return fmt::format("device {} computes something else: {}", device, difference);
  }
  return "";
}

}  // namespace hlo
