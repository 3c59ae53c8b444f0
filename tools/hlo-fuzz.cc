// hlo-fuzz: looks for inputs that break the project. See --help and tools/fuzz/.
#include <fmt/format.h>

#include <cstdlib>

#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "tools/fuzz/driver.h"
#include "tools/fuzz/mutate.h"
#include "tools/fuzz/platform_config.h"
#include "tools/fuzz/programs/census.h"
#include "tools/fuzz/programs/random_program.h"
#include "tools/support/flags.h"

// Reports of the sanitizers, in builds that have them: an input of a few kilobytes needs no large
// piece of memory.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:quarantine_size_mb=32:abort_on_error=0:exitcode=70:malloc_"
         "context_size=12:"
         "handle_abort=1:detect_leaks=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

#ifdef HLO_LIBFUZZER

// libFuzzer has the main function; the mode comes from the environment (HLO_FUZZ_MODE).
namespace {

const hlo::FuzzMode& TheMode() {
  static const hlo::FuzzMode* const kMode = [] {
    const char* name = std::getenv("HLO_FUZZ_MODE");
    const hlo::FuzzMode* mode = hlo::FindFuzzMode(name == nullptr ? "parser" : name);
    if (mode == nullptr) {
      fmt::print(stderr, "hlo-fuzz: HLO_FUZZ_MODE names no mode\n");
      std::exit(2);
    }
    return mode;
  }();
  return *kMode;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string finding = TheMode().check({reinterpret_cast<const char*>(data), size});
  if (!finding.empty()) {
    fmt::print(stderr, "finding: {}\n", finding);
    std::abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// libFuzzer's own changes half of the time, ours for HLO text otherwise.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  hlo::FuzzRandom random(seed);
  if (random.OneIn(2)) return LLVMFuzzerMutate(data, size, max_size);
  static std::string previous;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string output =
      hlo::Mutate(input, previous.empty() ? input : previous, max_size, random);
  if (random.OneIn(4)) previous = input;
  std::copy(output.begin(), output.end(), data);
  return output.size();
}

#else

namespace hlo {
namespace {

struct Command {
  FuzzOptions fuzz;
  std::string mode = "parser";
  std::string minimize;
  bool help = false;
  bool list_modes = false;
  std::string config;
  bool oracle = false;
  int64_t census = 0;
  int64_t seed = 1;
};

std::string ModeMistake(const std::string& name) {
  std::vector<std::string_view> names;
  for (const FuzzMode& mode : FuzzModes()) names.push_back(mode.name);
  return FlagValues::Words(names).Mistake(name);
}

void AddFlags(Flags& flags, Command& c) {
  using V = FlagValues;
  flags.Group("What");
  flags.Add("mode", &c.mode, V::Passing(ModeMistake), "MODE",
            "what to test (parser); --list-modes tells which there are");
  flags.Add("list-modes", &c.list_modes, "list the modes");
  flags.Add("minimize", &c.minimize, V::Some(), "FILE",
            "make the input of a finding smaller, print the result");
  flags.Group("Inputs");
  flags.Add("seeds", &c.fuzz.seeds, V::Some(), "PATH",
            "files or folders to start from; may be repeated (testdata)");
  flags.Add("corpus", &c.fuzz.corpus, V::Some(), "DIR",
            "more inputs to start from; inputs that reach new code are added");
  flags.Add("max-length", &c.fuzz.max_length, V::Between(1, 1 << 30), "BYTES",
            "longest input; longer seeds are left out (6000)");
  flags.Add("seed", &c.seed, V::From(0), "N",
            "of the random numbers: the same seed, the same inputs (1)");
  flags.Group("Limits");
  flags.Add("seconds", &c.fuzz.seconds, V::From(0), "S", "stop after this time; 0: never (60)");
  flags.Add("runs", &c.fuzz.runs, V::From(0), "N", "stop after this many inputs; 0: never (0)");
  flags.Add("time-limit", &c.fuzz.limits.seconds, V::Between(1e-3, 1e6), "S",
            "an input that takes longer is a finding (10, of processor time)");
  flags.Add("memory-limit", &c.fuzz.limits.megabytes, V::Between(1, 1e9), "MB",
            "an input that takes more is a finding (1024)");
  flags.Group("Results");
  flags.Add("distill", &c.fuzz.distill, V::Some(), "DIR",
            "only copy the seeds that reach new code to DIR, short ones first (build type Fuzz)");
  flags.Add("artifacts", &c.fuzz.artifacts, V::Some(), "DIR",
            "write the inputs of findings here, with a report beside each");
  flags.Add("reduce", &c.fuzz.reduce_seconds, V::From(0), "S",
            "with --artifacts, mode platforms: make each finding smaller for so long, into a file "
            "beside it (60); 0: leave it");
  flags.Add("config", &c.config, V::Some(), "TEXT",
            "mode platforms: run everything so, for example `platform=cpu threads=2 inputs=7`");
  flags.Add("oracle", &c.oracle,
            "mode platforms: compare the interpreter with XLA:CPU, through a Python with jaxlib "
            "($HLO_ORACLE_PYTHON)");
  flags.Add("census", &c.census, V::From(0), "N",
            "mode platforms: only make N random programs, and print which opcodes they have of "
            "which element types");
  flags.Add("help,h", &c.help, "this text");
  flags.Note("Exit code: 0 nothing found, 1 findings, 2 wrong usage.");
  flags.Note(
      "A finding is a crash, a sanitizer report, a broken promise of the mode, or a limit "
      "exceeded.");
  flags.Note(
      "Build type Fuzz (cmake --preset fuzz) has both sanitizers and marks the code reached, which "
      "guides");
  flags.Note(
      "the search; every other build type works, too, without guidance. cmake --preset libfuzzer "
      "makes a");
  flags.Note("program with libFuzzer's flags in place of these (HLO_FUZZ_MODE names the mode).");
  flags.Example("hlo-fuzz --seconds=3600 --seed=7 --artifacts=found",
                "an hour; findings go to the folder found");
  flags.Example("hlo-fuzz testdata/regress/*.hlo", "check these files once, as they are");
  flags.Example("hlo-fuzz --minimize=found/parser-0123.hlo > small.hlo",
                "a smaller input with the same finding");
}

int CheckFiles(const FuzzMode& mode, const FuzzOptions& options,
               const std::vector<std::string>& files) {
  int passed = 0, failed = 0;
  for (const std::string& file : files) {
    const absl::StatusOr<std::string> text = ReadFile(file);
    const std::string finding =
        text.ok() ? CheckOnce(mode, options, *text) : Render(text.status(), nullptr);
    if (!finding.empty()) fmt::print("{}: {}\n", file, finding);
    ++(finding.empty() ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int PrintCensus(uint64_t seed, int64_t programs) {
  FuzzRandom random(seed);
  Census census;
  for (; programs > 0; --programs) census.Add(RandomProgram(random));
  fmt::print("{}", census.ToText());
  return 0;
}

int Usage(std::string_view message) {
  fmt::print(stderr, "hlo-fuzz: error: {}\n", message);
  return 2;
}

int RunCommand(Command& c, const Flags& flags) {
  if (c.help) {
    fmt::print("{}", flags.Help());
    return 0;
  }
  if (c.list_modes) {
    for (const FuzzMode& mode : FuzzModes()) fmt::print("{:<10} {}\n", mode.name, mode.summary);
    return 0;
  }
  const FuzzMode* mode = FindFuzzMode(c.mode);
  c.fuzz.seed = static_cast<uint64_t>(c.seed);
  SetPlatformConfig(c.config);
  if (c.oracle) UseXla();
  if (c.census > 0) return PrintCensus(c.fuzz.seed, c.census);
  if (!flags.positional().empty()) return CheckFiles(*mode, c.fuzz, flags.positional());
  if (!c.minimize.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(c.minimize);
    if (!text.ok()) return Usage(Render(text.status(), nullptr));
    fmt::print("{}", Minimize(*mode, c.fuzz, *text));
    return 0;
  }
  if (c.fuzz.seeds.empty()) c.fuzz.seeds = {"testdata"};
  const absl::StatusOr<int> findings = Fuzz(*mode, c.fuzz);
  if (!findings.ok()) return Usage(Render(findings.status(), nullptr));
  fmt::print("mode {}, seed {}: {} findings\n", mode->name, c.seed, *findings);
  return *findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  hlo::Flags flags("hlo-fuzz", "[options] [FILE…]", "look for inputs that break the project");
  hlo::Command command;
  hlo::AddFlags(flags, command);
  if (const absl::Status parsed = flags.Parse(argc, argv); !parsed.ok())
    return hlo::Usage(hlo::DiagnosticsOf(parsed).front().message);
  return hlo::RunCommand(command, flags);
}

#endif
