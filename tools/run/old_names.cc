#include "tools/run/old_names.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "tools/support/flags.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr std::string_view kRunHloModule = "run-hlo-module";
constexpr std::string_view kHloRunnerMain = "hlo-runner-main";
constexpr std::string_view kCorrectness = "test-correctness";
constexpr int kAnyFailure = 255;

enum class OldFlag : uint8_t {
  kDrop,     // means nothing here; with its value
  kSwitch,   // a truth value: true gives `words`
  kInverse,  // false gives `words`
  kValue,    // `words` with the value after them
  kRefuse,   // `words` says what to do instead
};

struct OldFlagRow {
  std::string_view name;  // with dashes
  OldFlag kind;
  std::string_view words = "";
};

// Flags that hlo-run does not have, or that mean something else there.
constexpr OldFlagRow kOldFlags[] = {
    {"print-literals", OldFlag::kSwitch, "--print=full"},
    {"log-output", OldFlag::kSwitch, "--print=full"},
    {"input-literals-file", OldFlag::kValue, "--input=@"},
    {"output-literals-file", OldFlag::kValue, "--output="},
    {"dump-output-literal-to", OldFlag::kValue, "--output="},
    {"run-test-hlo-passes", OldFlag::kInverse, "--no-run-passes"},
    {"run-xla-backend-only", OldFlag::kSwitch, "--no-run-passes"},
    {"disable-all-hlo-passes", OldFlag::kSwitch, "--no-run-passes"},
    {"random-init-input-literals", OldFlag::kInverse, "--input-dist=zeros"},
    {"use-large-float-range", OldFlag::kSwitch, "--input-range=-1e4,1e4"},
    {"force-fake-data", OldFlag::kDrop},
    {"compile-only", OldFlag::kSwitch, "--emit=buffers"},
    {"run", OldFlag::kInverse, "--emit=buffers"},
    {"profile-execution", OldFlag::kSwitch, "--time"},
    {"append-profile-to-csv-file", OldFlag::kRefuse, "use --json=FILE"},
    {"xla-gpu-dump-xspace-to", OldFlag::kRefuse, "use --profile=FILE.trace.json"},
    {"while-execution-count", OldFlag::kRefuse, "use --max-loop-iterations=N, which is a limit"},
    {"use-spmd-partitioning", OldFlag::kRefuse, "use --passes=spmd-partitioning"},
    {"run-single-shard-id", OldFlag::kValue, "--single-shard="},
    {"enable-mock-nccl", OldFlag::kSwitch, "--single-shard=0"},
    {"input-format", OldFlag::kDrop},  // told by the contents
    {"output-mode", OldFlag::kDrop},
    {"task-id", OldFlag::kDrop},
    {"num-nodes", OldFlag::kDrop},
    {"address", OldFlag::kDrop},
    {"remove-infeed-outfeed", OldFlag::kDrop},
    {"is-spmd-partitioned-module", OldFlag::kDrop},
    {"use-layouts-from-hlo-module", OldFlag::kDrop},
    {"force-auto-layout", OldFlag::kDrop},
    {"gpu-client-initialization-timeout-sec", OldFlag::kDrop},
    {"gpu-client-mem-fraction", OldFlag::kDrop},
    {"bijection-inputs", OldFlag::kDrop},
    {"bijection-outputs", OldFlag::kDrop},
};

// --hlo_argument_mode=.
struct ArgumentMode {
  std::string_view name;
  std::string_view words;
};
constexpr ArgumentMode kArgumentModes[] = {
    {"use-random-inputs", ""},
    {"use-shared-random-inputs", "--shared-inputs"},
    {"use-zeros-as-input", "--input-dist=zeros"},
    {"uninitialized", "--input-dist=zeros"},  // memory that is not set is never used
    {"use-random-normal-inputs", "--input-dist=normal"},
};

std::string NameOf(std::string_view path) {
  return WithDashes(std::filesystem::path(std::string(path)).filename().string());
}

const OldFlagRow* FindOldFlag(std::string_view name) {
  for (const OldFlagRow& row : kOldFlags) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool IsTrue(std::string_view value) { return value.empty() || value == "true" || value == "1"; }

class OldWords {
 public:
  OldWords(std::string_view program, OldCommand& out) : program_(program), out_(out) {}

  absl::Status Read(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 2 || word[0] != '-') {
        out_.files.push_back(word);
        continue;
      }
      const size_t begin = word[1] == '-' ? 2 : 1, equals = std::min(word.find('='), word.size());
      const std::string name = WithDashes(word.substr(begin, equals - begin));
      std::string value = equals < word.size() ? word.substr(equals + 1) : "";
      // A value of its own word: of those that cannot be switches.
      const OldFlagRow* const row = FindOldFlag(name);
      const bool is_switch =
          row != nullptr && (row->kind == OldFlag::kSwitch || row->kind == OldFlag::kInverse);
      const bool takes_next = equals == word.size() && !is_switch && TakesValue(name) &&
                              i + 1 < words.size() && !words[i + 1].starts_with("-");
      if (takes_next) value = words[++i];
      given_.insert(name);
      RETURN_IF_ERROR(One(word, name, value, row, takes_next));
    }
    return Defaults();
  }

 private:
  // Of flags that hlo-run has, too, a value never stands apart here but for these.
  static bool TakesValue(std::string_view name) {
    constexpr std::string_view kWithValue[] = {
        "platform",    "reference-platform", "device-type",     "iterations",
        "num-repeats", "abs-error-bound",    "rel-error-bound", "hlo-argument-mode",
        "random-seed", "num-replicas",       "num-partitions",  "debug-options-file"};
    const OldFlagRow* const row = FindOldFlag(name);
    return row != nullptr ||
           std::find(std::begin(kWithValue), std::end(kWithValue), name) != std::end(kWithValue);
  }

  absl::Status One(const std::string& word, const std::string& name, const std::string& value,
                   const OldFlagRow* row, bool was_apart) {
    const auto number = [&](int64_t& into) -> absl::Status {
      return ReadNumberTo(value, into) ? absl::OkStatus()
                                       : Error("`--{}` expects a number, found `{}`", name, value);
    };
    if (name == "platform" || name == "device-type") {
      out_.platform = value;
    } else if (name == "reference-platform") {
      out_.reference = value == "default" ? "interpreter" : value;
    } else if (name == "run-reference-hlo-passes") {
      reference_has_passes_ = IsTrue(value);
    } else if (name == "iterations" && program_ == kRunHloModule) {
      return number(out_.iterations);
    } else if (name == "different-random-seeds") {
      // Each iteration has its own anyway.
    } else if (name == "random-seed") {
      int64_t seed = 0;
      RETURN_IF_ERROR(number(seed));
      if (seed >= 0) out_.seed = seed;  // -1: that of the program
    } else if (name == "hlo-argument-mode") {
      return Mode(value);
    } else if (row == nullptr) {
      out_.words.push_back(was_apart ? fmt::format("--{}={}", name, value) : word);
    } else if (row->kind == OldFlag::kRefuse) {
      return Error("there is no `--{}` here; {}", name, row->words);
    } else if (row->kind == OldFlag::kValue) {
      out_.words.push_back(std::string(row->words) + value);
    } else if (row->kind == (IsTrue(value) ? OldFlag::kSwitch : OldFlag::kInverse)) {
      out_.words.emplace_back(row->words);
    }
    return absl::OkStatus();
  }

  absl::Status Mode(std::string_view value) {
    std::vector<std::string_view> names;
    for (const ArgumentMode& mode : kArgumentModes) {
      names.push_back(mode.name);
      if (WithDashes(value) != mode.name) continue;
      if (!mode.words.empty()) out_.words.emplace_back(mode.words);
      return absl::OkStatus();
    }
    return OneOf("hlo_argument_mode", value, names);
  }

  // What is meant without any flag.
  absl::Status Defaults() {
    const bool compares = program_ != kHloRunnerMain;
    if (compares && !given_.contains("reference-platform")) out_.reference = "interpreter";
    const bool is_looked_at = given_.contains("isolate-instructions");
    if (!out_.reference.empty() && !is_looked_at) {
      for (const std::string_view bound : {"abs", "rel"}) {
        if (!given_.contains(fmt::format("{}-error-bound", bound)))
          out_.words.push_back(fmt::format("--{}=1e-3", bound));
      }
      out_.words.push_back(
          fmt::format("--reference={}{}", out_.reference, reference_has_passes_ ? "" : ":-O0"));
    }
    if (!given_.contains("print-literals") && !given_.contains("log-output"))
      out_.words.emplace_back("--print=none");
    out_.words.push_back("--platform=" + out_.platform);
    if (out_.files.empty()) return Error("no input file");
    return absl::OkStatus();
  }

  const std::string_view program_;
  OldCommand& out_;
  std::set<std::string> given_;
  bool reference_has_passes_ = true;
};

}  // namespace

bool IsOldName(std::string_view path) {
  const std::string name = NameOf(path);
  return name == kRunHloModule || name == kHloRunnerMain || name.ends_with(kCorrectness);
}

absl::StatusOr<OldCommand> ReadOldCommand(std::string_view path,
                                          const std::vector<std::string>& words) {
  const std::string name = NameOf(path);
  OldCommand command;
  command.is_run_hlo_module = name == kRunHloModule;
  if (name.starts_with("gpu") || name.starts_with("triton")) command.platform = "gpu";
  RETURN_IF_ERROR(OldWords(name, command).Read(words));
  return command;
}

int RunOldCommand(const OldCommand& command,
                  const std::function<int(const std::vector<std::string>& words)>& run) {
  int64_t runs = 0, failures = 0;
  int first_failure = kExitOk;
  for (const std::string& file : command.files) {
    if (command.is_run_hlo_module) WriteStdout(fmt::format("** Running {} **\n", file));
    for (int64_t i = 0; i < command.iterations; ++i) {
      std::vector<std::string> words = command.words;
      words.push_back(fmt::format("--seed={}", command.seed + i));
      words.push_back(file);
      const int code = run(words);
      ++runs;
      if (code != kExitOk) ++failures;
      if (first_failure == kExitOk) first_failure = code;
      const bool was_compared = code == kExitOk || code == kExitMismatch;
      if (!command.is_run_hlo_module || command.reference.empty() || !was_compared) continue;
      WriteStdout(fmt::format("** Results on {} and {} are {}close enough. **\n", command.platform,
                              command.reference, code == kExitOk ? "" : "NOT "));
    }
  }
  if (!command.is_run_hlo_module) return first_failure;
  if (failures > 0) WriteStderr(fmt::format("{}/{} runs failed.\n", failures, runs));
  return failures > 0 ? kAnyFailure : kExitOk;
}

}  // namespace hlo
