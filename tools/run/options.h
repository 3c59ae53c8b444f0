// The options of hlo-run, and their flags.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/registry.h"
#include "lib/types/literal_compare.h"
#include "tools/support/flags.h"
#include "tools/support/gpu_pass_flags.h"

namespace hlo {

// How much of the outputs is printed.
enum class PrintOutputs : uint8_t { kNone, kShort, kFull, kHash };

struct ToolOptions {
  // What to run.
  std::string file;  // "-": standard input
  std::string platform;
  bool platform_is_given = false;
  std::string passes;
  std::string emit;
  std::string kernel;  // which kernels --emit shows; empty: all
  bool jit_symbols = false;
  std::string save_executable;  // a file; empty: not asked for
  std::string save_temps;       // a folder for the texts of all stages; empty: not asked for
  std::string start_stage;
  bool run_passes = true;
  int64_t threads = 0;
  std::string denormals;
  std::string cpu_features;
  std::string cpu_kernels;
  bool sanitize = false;
  CpuOptions cpu;
  GpuOptions gpu;
  std::string gpu_target_config;  // support/gpu_target.h
  GpuProperties gpu_properties;   // for --passes; of the flag and the file above
  GpuPassFlags gpu_pass_flags;
  std::string source_name;  // of the module in messages; empty: its path
  std::string xla_cpu_max_isa, xla_dump_to, xla_dump_pass_re, xla_disable, xla_only;
  bool xla_disable_all = false;
  std::map<std::string, std::string> given_to_xla;  // all flags of XLA
  // The command that a crash is repeated with: flags that write nothing, and the inputs.
  std::vector<std::string> given_words, given_inputs;
  int64_t max_loop_iterations = 0;
  int64_t execution_seed = 42;
  std::string fill_elided;
  std::vector<std::string> custom_calls;

  int64_t optimisation_level = 2;  // 0: none of the platform's passes
  std::string compare_stages;      // a folder of numbered stages (compare_stages.h)

  // Devices; 0: as the module says.
  int64_t num_replicas = 0, num_partitions = 0;
  bool shared_inputs = false;
  std::string single_shard;       // which device's part is run alone; empty: all (single_shard.h)
  std::string distributed;        // empty, or "mpi"
  double collective_timeout = 0;  // seconds; 0: InProcessCommunicator::kLongestWait
  bool spmd = false;

  // Inputs.
  std::vector<std::string> inputs;
  std::string input_dir;
  std::string inputs_from;
  std::string seed;
  std::vector<std::string> input_dists, input_ranges;
  std::string save_inputs;
  std::vector<std::string> infeed;

  // Outputs and comparison.
  std::string output_dir, outfeed_dir;
  std::vector<std::string> outputs;  // files (output_files.h)
  std::string print;
  std::string expected;
  std::string reference;          // the platform; empty: none
  std::string reference_command;  // a program instead (reference_command.h)
  bool reference_passes = true;   // the platform's own
  std::string abs, rel, ulps;
  std::vector<std::string> tolerances;  // tolerances.h
  std::string nan = "equal", inf = "equal";
  bool fail_on_nan = false;

  // Values inside.
  bool first_nan = false;
  std::string probe, isolate;
  int64_t check_determinism = 0;  // runs; 0: not asked for

  // Measuring.
  bool time = false;
  bool time_passes = false;
  bool transfers = true;
  bool bench = false;
  int64_t bench_min_runs = 10;
  double bench_min_seconds = 1;
  int64_t bench_compiles = 1;
  int64_t iterations = 0;
  double warmup = 0.2;
  std::string against;  // more files for --bench (bench_table.h)
  bool csv = false;
  std::string baseline;
  double fail_if_slower = -1;  // percent; below 0: no limit
  std::string json;
  std::string profile_trace, roofline;
  std::string profile;     // "-": a table on standard output; else files; empty: not asked for
  std::string trace;       // a file, or empty
  std::string time_trace;  // of the compilation, the same
  bool measure_peaks = false;
  std::string memory_report;  // as `profile`
  std::string xla_memory;     // a table of scripts/xla_memory.py
  std::string progress = "auto";
  std::string memory_limit;

  // Test modes.
  bool check_file = false;
  bool check_models = false;
  std::string platforms;
  double time_limit = 0;
  double compile_timeout = 0;
  int64_t jobs = 0;
  bool strict = false;
  bool verbose = false;
  bool accepted = false;  // flags of other programs that need no answer here
  std::string accepted_text;
  bool list_platforms = false;
  bool list_targets = false;
  bool require_donation = false;
  bool explain_inputs = false;
  bool doctor = false;
  bool kernel_info = false;

  // Filled by Check from the words above.
  std::vector<EmitStage> emit_stages;
  std::optional<EmitStage> start;  // where code generation starts, with a text of --save-temps
  // Of --profile, --profile-trace and --roofline: where to, and a name whose end says
  // in what form.
  struct ProfileFile {
    std::string file, form;
  };
  std::vector<ProfileFile> profile_files;  // "-": standard output
  std::vector<std::string> memory_files;   // the same
  std::optional<Denormals> denormal_mode;
  PrintOutputs print_outputs = PrintOutputs::kShort;
  std::optional<uint64_t> seed_value;
  std::optional<double> abs_value, rel_value;
  std::optional<int64_t> ulps_value;
  uint64_t memory_bytes = 0;  // 0: what the machine has free
  bool show_progress = false;

  // Buffers of inputs and outputs (buffer_plan.h), steps after each other (training_loop.h).
  std::string donate, feed;
  std::string checkpoint;
  int64_t checkpoint_every = 0;
  bool resume = false;

  // Whether inputs are given to runs as buffers, to keep or to borrow.
  bool uses_buffers() const { return !donate.empty() || !feed.empty(); }
  // Whether the module is compiled to be looked at, and not run.
  // The words of a command that repeats this one, without what it would write.
  std::vector<std::string> repeating_words() const;
  bool only_looks() const { return !emit_stages.empty() || !memory_files.empty(); }
  // Whether there is anything to run.
  bool runs() const { return !only_looks() && save_executable.empty(); }
  // Whether a tolerance was given on the command line.
  bool has_tolerance() const { return abs_value || rel_value || ulps_value; }
  // The tolerance of the command line, zero where it says nothing.
  Tolerance tolerance() const {
    return {abs_value.value_or(0), rel_value.value_or(0), ulps_value.value_or(0)};
  }
};

// What the back end of `platform` is told.
CompileOptions CompilerOptions(const ToolOptions& options, Denormals denormals);

// Describes the flags that fill `options`.
void AddFlags(Flags& flags, ToolOptions& options);
// Checks the words and their combination; errors are usage errors (exit code 2).
absl::Status Check(const Flags& flags, ToolOptions& options);
// The platform that runs without `--platform`: the CPU where it is built in.
std::string_view DefaultPlatform();
// How `platform` treats denormals unless told otherwise.
Denormals DenormalsOf(const ToolOptions& options, std::string_view platform);

}  // namespace hlo
