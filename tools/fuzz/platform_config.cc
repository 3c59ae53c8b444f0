#include "tools/fuzz/platform_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/registry.h"
#include "lib/support/hash.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "tools/fuzz/random.h"
#include "tools/fuzz/xla_oracle.h"

namespace hlo {
namespace {

constexpr std::string_view kLine = "// CONFIG: ";
// The line may have been mutated with the rest of the text.
constexpr uint64_t kMostThreads = 64;

std::string& CommandLineConfig() {
  static std::string config;
  return config;
}

bool uses_xla = false;

uint64_t Number(std::string_view text) { return ReadNumber<uint64_t>(text).value_or(0); }

PlatformConfig Parse(std::string_view text) {
  PlatformConfig config;
  for (const std::string_view word : Split(text, ' ')) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "platform") config.platform = value;
    if (key == "threads")
      config.threads = static_cast<int>(std::clamp<uint64_t>(Number(value), 1, kMostThreads));
    if (key == "features") config.features = value;
    if (key == "inputs") config.inputs = Number(value);
    if (key == "indices") config.any_indices = value == "any";
    if (key == "verify") config.verify = value == "each";
    if (key == "kernels") config.evaluate = value == "evaluate";
    if (key == "checks") config.checks = value != "none";
    if (key == "passes") config.passes = value;
  }
  return config;
}

// Programs are small, so generating machine code for one takes ten times as long as all else. Most
// run without: each of these still meets the passes, the planning of kernels and buffers, and the
// library.
constexpr size_t kRunsPerSimulated = 8;
constexpr size_t kCpuRunsPerCompiled = 5;

// What brings a module into the form of a dump.
constexpr std::string_view kDumpPasses[] = {
    "hlo-memory-scheduler",
    "call-inliner,tuple-simplifier,dce,hlo-memory-scheduler",
    "flatten-call-graph,copy-insertion,hlo-memory-scheduler",
    "fusion,hlo-memory-scheduler",
    "flatten-call-graph,fusion,copy-insertion,hlo-memory-scheduler",
    "layout-assignment",
    "flatten-call-graph,layout-assignment,fusion,copy-insertion,hlo-memory-scheduler",
    "async-collective-creator,latency-hiding-scheduler{platform=cpu}",
};

PlatformConfig ChosenConfig(std::string_view input) {
  FuzzRandom random(HashBytes(input));
  PlatformConfig config;
  config.platform = random.OneIn(kRunsPerSimulated) ? "gpu-sim" : "cpu";
  config.threads = random.OneIn(4) ? 2 : 1;
  static constexpr std::string_view kFeatures[] = {"", "", "", "avx2", "sse"};
  config.features = kFeatures[random.Below(std::size(kFeatures))];
  config.inputs = 1 + random.Below(100);
  config.any_indices = random.OneIn(3);
  config.verify = random.OneIn(6);
  config.evaluate = config.platform == "cpu" && !random.OneIn(kCpuRunsPerCompiled);
  config.checks = !random.OneIn(3);
  if (random.OneIn(4)) config.passes = kDumpPasses[random.Below(std::size(kDumpPasses))];
  if (uses_xla) config.platform = kXlaPlatform;
  return config;
}

}  // namespace

std::string PlatformConfig::ToString() const {
  std::string text = fmt::format("platform={} threads={} inputs={}", platform, threads, inputs);
  if (!features.empty()) text += fmt::format(" features={}", features);
  if (any_indices) text += " indices=any";
  if (verify) text += " verify=each";
  if (evaluate) text += " kernels=evaluate";
  if (!checks) text += " checks=none";
  if (!passes.empty()) text += fmt::format(" passes={}", passes);
  return text;
}

CompileOptions PlatformConfig::Options() const {
  CompileOptions options;
  options.threads = threads;
  options.cpu_features = features;
  options.verify_each_pass = verify;
  options.cpu.kernels = evaluate ? CpuKernels::kEvaluate : CpuKernels::kLlvm;
  options.cpu.checks = checks ? CpuChecks::kAll : CpuChecks::kNone;
  options.gpu.sim_sanitize = true;
  options.gpu.sim_seed = static_cast<int64_t>(inputs);
  // As hlo-run does.
  options.denormals = DefaultDenormals(platform == kXlaPlatform ? "cpu" : platform);
  return options;
}

void SetPlatformConfig(std::string_view text) { CommandLineConfig() = text; }

void UseXla() { uses_xla = true; }

PlatformConfig ConfigFor(std::string_view input) {
  if (!CommandLineConfig().empty()) return Parse(CommandLineConfig());
  if (const size_t at = input.find(kLine); at != std::string_view::npos) {
    const std::string_view rest = input.substr(at + kLine.size());
    return Parse(rest.substr(0, rest.find('\n')));
  }
  return ChosenConfig(input);
}

std::string WithConfig(std::string_view input) {
  if (input.find(kLine) != std::string_view::npos) return std::string(input);
  return fmt::format("{}{}\n{}", kLine, ConfigFor(input).ToString(), input);
}

}  // namespace hlo
