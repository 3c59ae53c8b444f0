#include "tools/run/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>

#include "backends/registry.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/gpu_target.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct StageWord {
  std::string_view word;
  EmitStage stage;
};
constexpr StageWord kStages[] = {{"hlo", EmitStage::kHlo},   {"buffers", EmitStage::kBuffers},
                                 {"tile", EmitStage::kTile}, {"thunks", EmitStage::kThunks},
                                 {"llvm", EmitStage::kLlvm}, {"asm", EmitStage::kAsm},
                                 {"ptx", EmitStage::kPtx},   {"kernels", EmitStage::kKernels}};

template <class T>
bool ParseNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

absl::Status CheckEmit(ToolOptions& options) {
  if (options.emit.empty()) return absl::OkStatus();
  for (std::string_view word : Split(options.emit, ',')) {
    RETURN_IF_ERROR(
        OneOf("emit", word, {"hlo", "buffers", "tile", "thunks", "llvm", "asm", "ptx", "kernels"}));
    for (const StageWord& stage : kStages) {
      if (stage.word == word) options.emit_stages.push_back(stage.stage);
    }
  }
  return absl::OkStatus();
}

// A tolerance: not negative, not NaN.
absl::Status CheckTolerance(std::string_view flag, const std::string& text,
                            std::optional<double>& value) {
  if (text.empty()) return absl::OkStatus();
  double number = 0;
  if (!ParseNumber(text, number) || !(number >= 0)) {
    return Error("`--{}` expects a number that is not negative, found `{}`", flag, text);
  }
  value = number;
  return absl::OkStatus();
}

// "512", "200M", "1.5G".
absl::Status CheckMemory(ToolOptions& options) {
  if (options.memory_limit.empty()) return absl::OkStatus();
  std::string_view text = options.memory_limit;
  double factor = 1;
  constexpr std::string_view kSuffixes = "KMGT";
  if (const size_t at = kSuffixes.find(text.back()); at != std::string_view::npos) {
    factor = std::ldexp(1.0, 10 * static_cast<int>(at + 1));
    text.remove_suffix(1);
  }
  double value = 0;
  if (!ParseNumber(text, value) || !(value * factor >= 1)) {
    return Error("`--memory-limit` expects a number of bytes such as 512M, found `{}`",
                 options.memory_limit);
  }
  options.memory_bytes = static_cast<uint64_t>(value * factor);
  return absl::OkStatus();
}

absl::Status CheckWords(ToolOptions& options) {
  RETURN_IF_ERROR(CheckEmit(options));
  ASSIGN_OR_RETURN(options.gpu_target, GpuTarget(options.gpu_target, options.gpu_target_config));
  if (options.sanitize) {
    options.cpu.checks = CpuChecks::kAll;
    options.gpu_sim_sanitize = true;
  }
  if (!options.cpu_kernels.empty()) {
    RETURN_IF_ERROR(OneOf("cpu-kernels", options.cpu_kernels, {"llvm", "evaluate"}));
    options.cpu.kernels =
        options.cpu_kernels == "evaluate" ? CpuKernels::kEvaluate : CpuKernels::kLlvm;
    for (const EmitStage stage : options.emit_stages) {
      if (options.cpu.kernels == CpuKernels::kEvaluate &&
          (stage == EmitStage::kLlvm || stage == EmitStage::kAsm)) {
        return Error("`--cpu-kernels=evaluate` makes no machine code; leave out `--emit={}`",
                     options.emit);
      }
    }
  }
  if (!options.denormals.empty()) {
    RETURN_IF_ERROR(OneOf("denormals", options.denormals, {"flush", "keep"}));
    options.denormal_mode = options.denormals == "flush" ? Denormals::kFlush : Denormals::kKeep;
  }
  if (!options.fill_elided.empty() && !options.fill_elided.starts_with("random:")) {
    RETURN_IF_ERROR(
        OneOf("fill-elided", options.fill_elided, {"random:SEED", "zeros", "ones", "xla"}));
  }
  if (options.fill_elided.starts_with("random:")) {
    uint64_t seed = 0;
    if (!ParseNumber(std::string_view(options.fill_elided).substr(7), seed)) {
      return Error("`--fill-elided=random:SEED` expects an integer as SEED, found `{}`",
                   options.fill_elided.substr(7));
    }
  }
  if (!options.seed.empty()) {
    uint64_t seed = 0;
    if (!ParseNumber(options.seed, seed))
      return Error("`--seed` expects an integer in [0, 2^64), found `{}`", options.seed);
    options.seed_value = seed;
  }
  RETURN_IF_ERROR(CheckTolerance("abs", options.abs, options.abs_value));
  RETURN_IF_ERROR(CheckTolerance("rel", options.rel, options.rel_value));
  std::optional<double> ulps;
  RETURN_IF_ERROR(CheckTolerance("ulps", options.ulps, ulps));
  if (ulps) options.ulps_value = static_cast<int64_t>(*ulps);
  RETURN_IF_ERROR(OneOf("progress", options.progress, {"auto", "always", "never"}));
  options.show_progress =
      options.progress == "always" || (options.progress == "auto" && isatty(STDERR_FILENO) != 0);
  return CheckMemory(options);
}

// Replaces an alias by the platform's name.
absl::Status CheckPlatform(std::string& name) {
  ASSIGN_OR_RETURN(const Backend* backend, FindBackend(name));
  name = backend->name();
  return absl::OkStatus();
}

}  // namespace

std::string_view DefaultPlatform() {
  for (const BackendInfo& info : AllBackends()) {
    if (info.name == "cpu") return info.name;
  }
  return AllBackends().front().name;
}

Denormals DenormalsOf(const ToolOptions& options, std::string_view platform) {
  if (options.denormal_mode) return *options.denormal_mode;
  return platform == "cpu" ? Denormals::kFlush : Denormals::kKeep;
}

absl::Status Check(const Flags& flags, ToolOptions& options) {
  RETURN_IF_ERROR(CheckWords(options));
  if (options.platform.empty()) options.platform = DefaultPlatform();
  RETURN_IF_ERROR(CheckPlatform(options.platform));
  if (!options.reference.empty()) RETURN_IF_ERROR(CheckPlatform(options.reference));
  if (options.threads < 0 || options.threads > 4096) {
    return Error("`--threads` expects a number from 0 to 4096, found `{}`", options.threads);
  }
  if (options.max_loop_iterations < 0)
    return Error("`--max-loop-iterations` expects a number that is not negative");
  if (options.bench_min_runs < 1)
    return Error("`--bench-min-runs` expects at least 1, found `{}`", options.bench_min_runs);
  if (options.bench_compiles < 1)
    return Error("`--bench-compiles` expects at least 1, found `{}`", options.bench_compiles);
  if (!(options.bench_min_seconds >= 0))
    return Error("`--bench-min-seconds` expects a number that is not negative");
  if (options.kernel_info) {
    // Texts can be had without a GPU; other platforms have no such kernels.
    if (options.platform != "gpu-sim") options.platform = "gpu";
    RETURN_IF_ERROR(CheckPlatform(options.platform));
    options.emit_stages.push_back(EmitStage::kKernels);
  }
  if (options.list_platforms || options.doctor) return absl::OkStatus();
  if (flags.positional().empty()) return Error("no input file; see --help");
  if (options.check_file && options.check_models)
    return Error("`--check-file` and `--check-models` exclude each other");
  const int sources = (options.inputs_from.empty() ? 0 : 1) + (options.input_dir.empty() ? 0 : 1) +
                      (options.inputs.empty() && (options.check_file || options.check_models ||
                                                  flags.positional().size() < 2)
                           ? 0
                           : 1);
  if (sources > 1)
    return Error(
        "inputs are given in more than one way (`--inputs-from`, `--input-dir`, values); choose "
        "one");
  if (!options.expected.empty() && !options.reference.empty()) {
    return Error("`--expected` and `--reference` exclude each other");
  }
  if (options.has_tolerance() && options.expected.empty() && options.reference.empty() &&
      !options.check_file && !options.check_models) {
    return Error(
        "a tolerance is given, but nothing to compare with; add `--reference=` or `--expected=`");
  }
  const bool compares = !options.expected.empty() || !options.reference.empty();
  if (options.print.empty()) {
    options.print_outputs = compares || options.bench || !options.output_dir.empty()
                                ? PrintOutputs::kNone
                                : PrintOutputs::kShort;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(OneOf("print", options.print, {"none", "short", "full"}));
  options.print_outputs = options.print == "none"    ? PrintOutputs::kNone
                          : options.print == "short" ? PrintOutputs::kShort
                                                     : PrintOutputs::kFull;
  return absl::OkStatus();
}

}  // namespace hlo
