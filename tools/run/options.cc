#include "tools/run/options.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "backends/registry.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/custom_calls.h"
#include "tools/run/reference_command.h"
#include "tools/support/gpu_target.h"
#include "tools/support/progress.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// --target= and --xla_cpu_max_isa= of the CPU, as what `cpu_features` takes; XLA's words in
// lower case.
struct CpuTarget {
  std::string_view name;
  std::string_view features;
};
constexpr CpuTarget kCpuTargets[] = {
    {"x86-64-v2", "sse"}, {"x86-64-v3", "avx2"}, {"x86-64-v4", "avx512"}, {"sse4_2", "sse"},
    {"native", ""},       {"avx", "sse"},        {"avx2", "avx2"},        {"avx512", "avx512"},
};
// What these ask for beyond AVX512F is not used.
constexpr std::string_view kMoreThanAvx512[] = {"avx512_vnni", "avx512_bf16", "amx", "amx_fp16"};

absl::StatusOr<std::string> FeaturesOfTarget(std::string_view flag, std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  std::vector<std::string_view> names;
  for (const CpuTarget& target : kCpuTargets) {
    if (target.name == lower) return std::string(target.features);
    names.push_back(target.name);
  }
  for (const std::string_view more : kMoreThanAvx512) {
    if (more == lower) return std::string("avx512");
  }
  return Error("`--{}` expects one of {} on a CPU, found `{}`{}", flag, Join(names, ", "), name,
               DidYouMean(lower, names));
}

// --target= names a CPU or a GPU, as the platform is one or the other.
absl::Status ReadTarget(ToolOptions& options) {
  const bool is_gpu =
      options.platform.starts_with("gpu") ||
      ((options.check_file || options.check_models) && options.gpu.target.starts_with("sm_"));
  if (!options.xla_cpu_max_isa.empty() && options.cpu_features.empty()) {
    ASSIGN_OR_RETURN(const std::string most,
                     FeaturesOfTarget("xla_cpu_max_isa", options.xla_cpu_max_isa));
    options.cpu_features = "<=" + most;  // no more, and no more than there is
  }
  if (is_gpu) {
    if (const std::string mistake =
            options.gpu.target.empty() ? "" : GpuTargetValues().Mistake(options.gpu.target);
        !mistake.empty()) {
      return Error("`--target` {}", mistake);
    }
    ASSIGN_OR_RETURN(options.gpu_properties,
                     GpuPropertiesOf(options.gpu.target, options.gpu_target_config));
    options.gpu.multiprocessors = options.gpu_properties.multiprocessors;
    ASSIGN_OR_RETURN(options.gpu.target, GpuTarget(options.gpu.target, options.gpu_target_config));
  } else if (!options.gpu.target.empty()) {
    if (options.platform != "cpu")
      return Error("platform `{}` has no `--target`", options.platform);
    if (!options.cpu_features.empty())
      return Error("`--target` and `--cpu-features` cannot both be given for platform `cpu`");
    ASSIGN_OR_RETURN(options.cpu_features, FeaturesOfTarget("target", options.gpu.target));
    options.gpu.target.clear();
  }
  return absl::OkStatus();
}

// Numbers in words; FlagValues has seen that they are some.
template <class T>
std::optional<T> NumberOf(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::string_view rest = text;  // "3,2": only the first counts
  return TakeNumber<T>(rest).value_or(T{});
}

std::vector<std::string> FilesOf(std::string_view list) {
  std::vector<std::string> files;
  for (const std::string_view file : Split(list, ',')) {
    if (!Trim(file).empty()) files.emplace_back(Trim(file));
  }
  return files;
}

absl::Status ReadWords(ToolOptions& options) {
  RETURN_IF_ERROR(CheckMeanings(options.custom_calls));
  for (const std::string_view word : Split(options.emit, ',')) {
    for (const StageWord& stage : kStageWords) {
      if (stage.word == Trim(word)) options.emit_stages.push_back(stage.stage);
    }
  }
  for (const StageWord& stage : kStageWords) {
    if (stage.word != options.start_stage) continue;
    options.start = stage.stage;
    if (!IsListed(FindPlatform(options.platform)->stages, stage.word))
      return Error("platform `{}` has no stage `{}` to start from", options.platform, stage.word);
  }
  if (options.sanitize) {
    options.cpu.checks = CpuChecks::kAll;
    options.gpu.sim_sanitize = true;
  }
  options.cpu.kernels =
      options.cpu_kernels == "evaluate" ? CpuKernels::kEvaluate : CpuKernels::kLlvm;
  for (const EmitStage stage : options.emit_stages) {
    if (options.cpu.kernels == CpuKernels::kEvaluate &&
        (stage == EmitStage::kLlvm || stage == EmitStage::kAsm)) {
      return Error("`--cpu-kernels=evaluate` makes no machine code; leave out `--emit={}`",
                   options.emit);
    }
  }
  for (const EmitStage stage : options.emit_stages) {
    const bool is_of_one_kernel = stage != EmitStage::kPtx && !NeedsNvidiaTools(stage);
    if (options.kernel.empty() || is_of_one_kernel) continue;
    return Error(
        "`--kernel` is for the stages tile, llvm and asm, whose texts are of one kernel each; "
        "leave out `--emit={}`",
        options.emit);
  }
  if (options.start && options.cpu.kernels == CpuKernels::kEvaluate)
    return Error("`--cpu-kernels=evaluate` makes no machine code; leave out `--start-stage`");
  if (!options.denormals.empty())
    options.denormal_mode = options.denormals == "flush" ? Denormals::kFlush : Denormals::kKeep;
  options.seed_value = NumberOf<uint64_t>(options.seed);
  options.abs_value = NumberOf<double>(options.abs);
  options.rel_value = NumberOf<double>(options.rel);
  if (const std::optional<double> ulps = NumberOf<double>(options.ulps))
    options.ulps_value = static_cast<int64_t>(std::min(*ulps, 0x1p62));
  for (std::string& file : FilesOf(options.profile)) options.profile_files.push_back({file, file});
  if (!options.profile_trace.empty())
    options.profile_files.push_back({options.profile_trace, ".trace.json"});
  if (!options.roofline.empty()) options.profile_files.push_back({options.roofline, ".svg"});
  options.memory_files = FilesOf(options.memory_report);
  options.memory_bytes = BytesOf(options.memory_limit);
  options.show_progress = ShowsProgress(options.progress);
  return ReadTarget(options);
}

// Whether somebody feeds standard input: a pipe or a file, no terminal and no device.
bool HasStandardInput() {
  struct stat info;
  return fstat(STDIN_FILENO, &info) == 0 && !S_ISCHR(info.st_mode);
}

// Replaces an alias by the platform's name.
absl::Status CheckPlatform(std::string& name) {
  ASSIGN_OR_RETURN(const Backend* backend, FindBackend(name));
  name = backend->name();
  return absl::OkStatus();
}

// "cpu:-O0": the platform, and whether its passes run there.
absl::Status CheckReference(ToolOptions& options) {
  std::string& name = options.reference;
  if (name == "none") name.clear();
  if (name.empty()) return absl::OkStatus();
  if (name.starts_with('@')) {  // values, not a platform
    if (!options.expected.empty())
      return Error("`--expected` and `--reference={}` exclude each other", name);
    options.expected = name.substr(1);
    name.clear();
    return absl::OkStatus();
  }
  if (IsReferenceCommand(name)) {
    options.reference_command = std::move(name);
    name.clear();
    return absl::OkStatus();
  }
  if (const size_t level = name.rfind(":-O"); level != std::string::npos) {
    const std::string digit = name.substr(level + 3);
    if (digit.size() != 1 || digit[0] < '0' || digit[0] > '3')
      return Error("`--reference` expects a platform and perhaps :-O0 to :-O3, found `{}`", name);
    options.reference_passes = digit != "0";
    name = name.substr(0, level);
  }
  return CheckPlatform(name);
}

// --threads=, or what the environment says: our own variable, or OpenMP's, whose first number
// counts.
absl::Status ReadThreads(const Flags& flags, ToolOptions& options) {
  if (flags.given("threads")) return absl::OkStatus();
  if (const char* const own = std::getenv("HLO_NUM_THREADS"); own != nullptr && *own != 0) {
    const std::optional<int64_t> threads = NumberOf<int64_t>(own);
    if (!threads || *threads < 0 || *threads > 4096 || fmt::format("{}", *threads) != own)
      return Error("HLO_NUM_THREADS is `{}`, not a number of threads from 0 to 4096", own);
    options.threads = *threads;
    return absl::OkStatus();
  }
  if (const char* const openmp = std::getenv("OMP_NUM_THREADS"); openmp != nullptr)
    options.threads = std::clamp<int64_t>(NumberOf<int64_t>(openmp).value_or(0), 0, 4096);
  return absl::OkStatus();
}

}  // namespace

std::string_view DefaultPlatform() {
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name == "cpu") return info.name;
  }
  return AllBackends().front().name;
}

Denormals DenormalsOf(const ToolOptions& options, std::string_view platform) {
  if (options.denormal_mode) return *options.denormal_mode;
  return DefaultDenormals(platform);
}

CompileOptions CompilerOptions(const ToolOptions& options, Denormals denormals) {
  CompileOptions compile;
  compile.threads = static_cast<int>(options.threads);
  compile.denormals = denormals;
  compile.seed = static_cast<uint64_t>(options.execution_seed);
  compile.cpu_features = options.cpu_features;
  compile.cpu = options.cpu;
  compile.gpu = options.gpu;
  compile.run_passes = options.run_passes;
  return compile;
}

std::vector<std::string> ToolOptions::repeating_words() const {
  std::vector<std::string> words = given_words;
  words.insert(words.end(), given_inputs.begin(), given_inputs.end());
  return words;
}

// What saves an executable does nothing else.
absl::Status CheckSaving(const ToolOptions& options) {
  const std::pair<std::string_view, bool> others[] = {
      {"emit", options.only_looks()},
      {"bench", options.bench},
      {"sanitize", options.sanitize},
      {"check-file", options.check_file},
      {"check-models", options.check_models},
      {"expected", !options.expected.empty()},
      {"reference", !options.reference.empty() || !options.reference_command.empty()},
      {"spmd", options.spmd},
  };
  for (const auto& [flag, is_given] : others) {
    if (!options.save_executable.empty() && is_given)
      return Error("`--save-executable` and `--{}` exclude each other", flag);
  }
  return absl::OkStatus();
}

// Runs that use up their inputs are not repeated with the same ones.
absl::Status CheckBuffers(const ToolOptions& options) {
  const std::string_view flag = options.feed.empty() ? "donate" : "feed";
  const std::pair<std::string_view, bool> repeats[] = {
      {"bench", options.bench},
      {"baseline", !options.baseline.empty()},
      {"check-determinism", options.check_determinism > 0},
      {"iterations", options.iterations > 0 && options.feed.empty()},
      {"first-nan", options.first_nan},
      {"probe", !options.probe.empty()},
      {"isolate", !options.isolate.empty()},
      {"check-file", options.check_file},
      {"check-models", options.check_models},
  };
  for (const auto& [name, is_given] : repeats) {
    if (options.uses_buffers() && is_given)
      return Error("`--{}` and `--{}` exclude each other", flag, name);
  }
  if (options.resume && options.checkpoint.empty())
    return Error("`--resume` needs `--checkpoint=DIR`");
  return absl::OkStatus();
}

absl::Status Check(const Flags& flags, ToolOptions& options) {
  options.platform_is_given = !options.platform.empty();
  if (!options.platform_is_given) options.platform = DefaultPlatform();
  RETURN_IF_ERROR(CheckPlatform(options.platform));
  RETURN_IF_ERROR(CheckReference(options));
  if (options.optimisation_level == 0) options.run_passes = false;
  RETURN_IF_ERROR(ReadThreads(flags, options));
  if (options.kernel_info) {
    // Texts can be had without a GPU; other platforms have no such kernels.
    if (options.platform != "gpu-sim") options.platform = "gpu";
    RETURN_IF_ERROR(CheckPlatform(options.platform));
    options.emit_stages.push_back(EmitStage::kKernels);
  }
  RETURN_IF_ERROR(ReadWords(options));
  if (options.list_platforms || options.list_targets || options.doctor || options.measure_peaks)
    return absl::OkStatus();
  const std::vector<std::string>& words = flags.positional();
  if (!options.compare_stages.empty()) {
    options.given_inputs = words;
    return absl::OkStatus();
  }
  if (words.empty() && (!HasStandardInput() || options.check_file || options.check_models))
    return Error("no input file; see --help");
  RETURN_IF_ERROR(CheckBuffers(options));
  options.bench = options.bench || (options.iterations > 0 && options.feed.empty()) ||
                  !options.baseline.empty();
  RETURN_IF_ERROR(CheckSaving(options));
  if (options.compile_timeout > 0 && options.time_limit > 0)
    return Error("`--compile-timeout` and `--time-limit` exclude each other");
  options.file = words.empty() ? "-" : words.front();
  options.given_to_xla = flags.given_to_xla();
  options.given_words = flags.GivenWords(
      {"output-dir", "save-inputs", "json", "baseline", "time", "profile", "memory-report", "trace",
       "checkpoint", "checkpoint-every", "resume", "progress", "source-name", "xla-dump-to",
       "quiet", "save-temps", "save-executable", "time-trace"});
  if (!words.empty()) options.given_inputs.assign(words.begin() + 1, words.end());
  if (options.check_file && options.check_models)
    return Error("`--check-file` and `--check-models` exclude each other");
  const int sources =
      (options.inputs_from.empty() ? 0 : 1) + (options.input_dir.empty() ? 0 : 1) +
      (options.inputs.empty() && (options.check_file || options.check_models || words.size() < 2)
           ? 0
           : 1);
  if (sources > 1)
    return Error(
        "inputs are given in more than one way (`--inputs-from`, `--input-dir`, values); choose "
        "one");
  const bool has_reference = !options.reference.empty() || !options.reference_command.empty();
  if (!options.expected.empty() && has_reference) {
    return Error("`--expected` and `--reference` exclude each other");
  }
  const bool has_tolerance = options.has_tolerance() || !options.tolerances.empty() ||
                             options.nan != "equal" || options.inf != "equal";
  if (has_tolerance && options.expected.empty() && !has_reference && options.isolate.empty() &&
      !options.check_file && !options.check_models) {
    return Error(
        "a tolerance is given, but nothing to compare with; add `--reference=` or `--expected=`");
  }
  const bool compares = !options.expected.empty() || has_reference;
  if (options.print.empty()) {
    options.print_outputs = compares || options.bench || !options.profile_files.empty() ||
                                    !options.output_dir.empty() || !options.outputs.empty()
                                ? PrintOutputs::kNone
                                : PrintOutputs::kShort;
    return absl::OkStatus();
  }
  options.print_outputs = options.print == "none"    ? PrintOutputs::kNone
                          : options.print == "short" ? PrintOutputs::kShort
                          : options.print == "hash"  ? PrintOutputs::kHash
                                                     : PrintOutputs::kFull;
  return absl::OkStatus();
}

}  // namespace hlo
