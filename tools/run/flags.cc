// The flags of hlo-run with their help texts.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "backends/registry.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "tools/run/buffer_plan.h"
#include "tools/run/devices.h"
#include "tools/run/inputs.h"
#include "tools/run/options.h"
#include "tools/run/output_files.h"
#include "tools/run/reference_command.h"
#include "tools/run/tolerances.h"
#include "tools/run/value_words.h"
#include "tools/support/elided.h"

namespace hlo {
namespace {

const std::vector<std::string_view> kCheckModes = {"check-file", "check-models"};

// What the checks of files heed of all other flags.
const std::vector<std::string_view> kTakenByChecks = {
    // which passes and kernels, and how they run
    "passes", "run-passes", "O", "threads", "denormals", "cpu-features", "sanitize", "cpu-kernels",
    "target", "gpu-", "xla-", "jit-symbols", "custom-call", "execution-seed", "max-loop-iterations",
    // which checks, and what is said of them
    "platforms", "jobs", "strict", "verbose", "quiet", "progress", "time-limit", "memory-limit",
    // of all tools
    "help", "help-all", "version", "print-options", "strict-flags", "logtostderr", "vmodule"};
// Of which the files say nothing themselves.
const std::vector<std::string_view> kTakenByModels = {"spmd", "fill-elided", "abs", "rel",
                                                      "ulps", "tolerance",   "nan", "inf"};

bool IsSeed(const std::string& text) { return ReadNumber<uint64_t>(text).has_value(); }
bool IsDevice(const std::string& text) { return ReadNumber<uint32_t>(text).has_value(); }
bool IsTolerance(const std::string& text) { return ReadNumber<double>(text).value_or(-1) >= 0; }
bool IsSize(const std::string& text) { return BytesOf(text) > 0; }

std::string PlatformMistake(const std::string& name) {
  return name.empty() ? "needs a value" : MistakeOf(FindBackend(name).status());
}

std::string ReferenceMistake(const std::string& word) {
  if (word.empty() || word == "none" || word[0] == '@' || IsReferenceCommand(word)) return "";
  return PlatformMistake(word.substr(0, word.rfind(":-O")));
}

std::string PlatformsMistake(const std::string& names) {
  if (names == "all") return "";
  for (const std::string_view name : Split(names, ',')) {
    if (std::string mistake = MistakeOf(FindBackend(name).status()); !mistake.empty())
      return mistake;
  }
  return "";
}

std::vector<std::string_view> StageWords() {
  std::vector<std::string_view> words;
  for (const StageWord& stage : kStageWords) words.push_back(stage.word);
  return words;
}

void AddCompilerFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Platform and compilation");
  flags.Add("platform,device-type", &o.platform, V::Passing(PlatformMistake), "NAME",
            fmt::format("where to run (default: {})", DefaultPlatform()));
  for (const PlatformInfo& info : AllBackends())
    flags.Note(fmt::format("  {:<14}{}", info.name, info.summary));
  flags.Add("list-platforms", &o.list_platforms, "print the names of the platforms");
  flags.Add("passes", &o.passes, V::Any(), "PIPELINE",
            "run these passes first (hlo-opt --list-passes)");
  flags.Add("run-passes", &o.run_passes, "run the platform's own passes (default: true)");
  flags.Add("O", &o.optimisation_level, V::Between(0, 3), "[2|N]",
            "-O0: as --no-run-passes; -O1 to -O3: with them");
  flags.Add("emit", &o.emit, V::ListOf(StageWords()), "STAGE,...",
            "print hlo, buffers, tile, thunks, llvm, asm, ptx, sass, kernels; do not run");
  flags.Add("kernel", &o.kernel, V::Regex().With({"emit"}), "REGEX",
            "of tile, llvm and asm only kernels of instructions with such a name");
  flags.Add("save-executable", &o.save_executable, V::Some(), "FILE",
            "compile, and write what runs later without compiling: hlo-run FILE; do not run");
  flags.Add("save-temps", &o.save_temps, V::Some(), "[.|DIR]",
            "write DIR/NAME.llvm.ll, NAME.asm.s, ...: a file for each of the platform's stages");
  flags.Add("start-stage", &o.start_stage, V::Words({"llvm", "ptx"}).With({"save-temps"}),
            "[llvm|ptx]",
            "take kernels from DIR/NAME.llvm.ll (or .ptx) of --save-temps, which you have edited");
  flags.Add("jit-symbols", &o.jit_symbols,
            "tell perf (/tmp/perf-PID.map) and GDB the names of kernels");
  flags.Add("threads,j", &o.threads, V::Between(0, 4096), "N",
            "threads of the run (default: HLO_NUM_THREADS, OMP_NUM_THREADS, processors)");
  flags.Add("denormals", &o.denormals, V::Words({"flush", "keep"}), "MODE",
            "flush (default on cpu) or keep (default elsewhere)");
  flags.Add("cpu-features", &o.cpu_features, V::Words({"native", "amx", "avx512", "avx2", "sse"}),
            "NAME", "use no more than avx512, avx2 or sse");
  flags.Add("sanitize", &o.sanitize,
            "check every access of the kernels of cpu and gpu-sim while they run");
  flags.Add("cpu-kernels", &o.cpu_kernels, V::Words({"llvm", "evaluate"}), "HOW",
            "llvm (default): compile them; evaluate: run them as tile IR");
  flags.Add("doctor", &o.doctor, "say what this machine offers, and what to install");
  flags.Add("kernel-info", &o.kernel_info,
            "print registers, memory and spills of GPU kernels; do not run");
  flags.Add("target", &o.gpu.target, V::Some(), "NAME",
            "GPU to compile for, such as sm_90a (default: the machine's, else sm_90; of --passes "
            "sm_80); or CPU (x86-64-v2 to -v4)");
  flags.Add("list-targets", &o.list_targets, "print the names of GPUs that --target knows");
  flags.Add("xla-gpu-target-config-filename", &o.gpu_target_config, V::Some(), "FILE");
  flags.Add("gpu-library", &o.gpu.library,
            "GPU: large products by cuBLASLt where it is installed (on)");
  flags.Add("gpu-tf32", &o.gpu.tf32,
            "GPU: products of f32 and default precision with TF32, as XLA computes them");
  flags.Add("gpu-graphs", &o.gpu.graphs,
            "GPU: what is launched again and again is launched as a CUDA graph (on)");
  flags.Add("gpu-merge-steps", &o.gpu.merge_steps,
            "GPU: small kernels, and loops of them, are launched as one (on)");
  flags.Add("gpu-overlap", &o.gpu.overlap,
            "GPU: a kernel is made ready while the one before it ends");
  flags.Add("gpu-autotune", &o.gpu.autotune,
            "GPU: time the kernels that a library and we have for a product, take the fastest");
  flags.Add("gpu-autotune-file", &o.gpu.autotune_file, V::Some(), "FILE",
            "the same; what is found is read from and kept in FILE");
  flags.Add("gpu-sim-seed", &o.gpu.sim_seed, V::From(0), "N",
            "order in which simulated GPU threads run");
  flags.Add("gpu-sim-sanitize", &o.gpu.sim_sanitize,
            "watch simulated GPU threads: races, bounds, alignment");
  flags.Add("xla-cpu-max-isa", &o.xla_cpu_max_isa, V::Some(), "ISA");
  flags.Add("xla-dump-to", &o.xla_dump_to, V::Some(), "DIR");
  flags.Add("xla-dump-hlo-pass-re", &o.xla_dump_pass_re, V::Regex(), "REGEX");
  flags.Add("xla-disable-hlo-passes", &o.xla_disable, V::Any(), "NAMES");
  flags.Add("xla-enable-hlo-passes-only", &o.xla_only, V::Any(), "NAMES");
  flags.Add("xla-disable-all-hlo-passes", &o.xla_disable_all);
  flags.Add("source-name", &o.source_name, V::Some(), "NAME");
  flags.Add("fill-elided", &o.fill_elided, FillElidedValues(), "HOW",
            "values for constants `{...}`: random:SEED, zeros, ones, xla (as XLA's parser)");
  flags.Add("custom-call", &o.custom_calls, V::Some(), "NAME=HOW",
            "what custom calls of a target give: identity, zeros, or what the");
  flags.Note(std::string(32, ' ') + "function NAME in @LIBRARY computes (XLA's typed FFI)");
}

void AddDeviceFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Devices");
  flags.Add("num-replicas,replicas", &o.num_replicas, V::Between(1, kMostRunDevices), "R",
            "run R replicas of P partitions, each a device of its own (default:");
  flags.Add("num-partitions,partitions", &o.num_partitions, V::Between(1, kMostRunDevices), "P",
            "as the module says, if anything in it tells devices apart)");
  flags.Note(
      "Device r * P + p is partition p of replica r. Inputs are the same for all of them but");
  flags.Note(
      "those written N:VALUE, those in DIR/deviceN of --input-dir, and those that are made.");
  flags.Add("shared-inputs", &o.shared_inputs,
            "make the same inputs for all devices (default: device N's from seed + N)");
  flags.Add("spmd", &o.spmd,
            "divide the module among its partitions by its shardings; inputs, results and the");
  flags.Note(std::string(32, ' ') + "--reference are those of the whole module");
  flags.Add("distributed", &o.distributed, V::Words({"mpi"}), "HOW",
            "mpi: run a part of the devices in each process that mpirun has started;");
  flags.Note(std::string(32, ' ') +
             "the first one reads, prints and writes as a single process does");
  flags.Add("collective-timeout", &o.collective_timeout, V::Between(1e-3, 1e9), "SECONDS",
            "end with exit code 4 when devices wait so long for others (default: 1800);");
  flags.Note(std::string(32, ' ') + "that all wait for each other is found at once");
  flags.Add("single-shard", &o.single_shard, V::Passing("the number of a device", IsDevice),
            "[0|ID]", "run the part of one device alone: what it would get of others is put");
  flags.Note(std::string(32, ' ') + "together of its own values; results mean nothing, times do");
}

std::string DistributionMistake(const std::string& word) {
  const std::string_view what = SplitMadeInput(word).what;
  if (DistributionFromWord(what)) return "";
  const std::vector<std::string_view> words(std::begin(kDistributionWords),
                                            std::end(kDistributionWords));
  return fmt::format("expects [PARAMETER:] and one of {}, found `{}`{}", Join(words, ", "), word,
                     DidYouMean(what, words));
}
bool IsRange(const std::string& word) {
  return RangeFromWord(SplitMadeInput(word).what).has_value();
}

void AddInputFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Inputs");
  flags.Note(
      "Words after the file are values: literals such as 'f32[2] {1, 2}', .npy, .npz or text "
      "files.");
  flags.Note(
      "One for each array leaf of the parameters, in order; a tuple literal stands for a whole "
      "parameter.");
  flags.Note(
      "Also SHAPE=VALUE: f32[4]=1,2,3,4, 4xf32=2 (all alike), f32[4]=@FILE[:OFFSET] (bytes), "
      "f32[4]=normal.");
  flags.Add("input,inputs,args", &o.inputs, V::Any(), "VALUE",
            "as such a word; @FILE is a file; may be repeated");
  flags.Add("input-dir", &o.input_dir, V::Some(), "DIR", "read DIR/arg0.npy, arg1.npy, ...");
  flags.Add("inputs-from", &o.inputs_from, V::Some(), "FILE.json",
            "make them as a file of testdata/models says");
  flags.Add("seed,random-seed", &o.seed, V::Passing("an integer in [0, 2^64)", IsSeed), "N",
            "make what is missing from this seed (default: 42 when");
  flags.Note(std::string(32, ' ') + "no input is given), fit for what they are used for");
  flags.Add("explain-inputs", &o.explain_inputs,
            "say of each input where it comes from, and which operation demands what of it");
  flags.Add("input-dist", &o.input_dists, V::Passing(DistributionMistake), "[P:]WORD",
            "make them (those of parameter P) uniform, normal, ints, zeros,");
  flags.Note(std::string(32, ' ') + "ones, iota or special (infinities, NaN, denormals); repeats");
  flags.Add("input-range", &o.input_ranges, V::Passing("[PARAMETER:]LOW,HIGH", IsRange),
            "[P:]LOW,HIGH", "range of uniform numbers and ints; normal: mean +- deviation");
  flags.Add("save-inputs", &o.save_inputs, V::Some(), "DIR",
            "write DIR/arg0.npy, arg1.npy, ..., for --input-dir");
  flags.Add("infeed", &o.infeed, V::Any(), "[N:]VALUE",
            "the next value (of device N) that `infeed` takes in, as an input; repeats");
  flags.Add("execution-seed", &o.execution_seed, V::From(0), "N",
            "of `rng` instructions (default: 42)");
}

void AddBufferFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Donation and training loops");
  flags.Add("require-donation", &o.require_donation,
            "an error where an input is donated and no output made in its memory");
  flags.Add("donate", &o.donate, V::Passing(DonateMistake), "all|none|P,P:{I}",
            "inputs that the run may keep: outputs that are aliased to them are made there;");
  flags.Note(std::string(32, ' ') + "all others are as they were after the run");
  flags.Add("feed", &o.feed, V::Passing(FeedMistake), "OUT:P,...",
            "--iterations=N steps; outputs become these inputs of the next one,");
  flags.Note(std::string(32, ' ') + "e.g. 0:1,{2}:3:{0}; aliases: as input_output_alias says");
  flags.Add("checkpoint", &o.checkpoint, V::Some().With({"feed"}), "DIR",
            "write what is fed there, after the last step");
  flags.Add("checkpoint-every", &o.checkpoint_every, V::From(1).With({"checkpoint"}), "K",
            "and after every K steps");
  flags.AddWith({"checkpoint"}, "resume", &o.resume,
                "go on after the newest checkpoint, if there is one");
}

void AddOutputFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Outputs and comparison");
  flags.Add("print", &o.print, V::Words({"none", "short", "full", "hash"}), "HOW",
            "outputs as HLO literals: none, short (default), full; hash: of their bytes");
  flags.Add("output-dir", &o.output_dir, V::Some(), "DIR", "write DIR/out0.npy, out1.npy, ...");
  flags.Add("outfeed-dir", &o.outfeed_dir, V::Some(), "DIR",
            "write what `outfeed` gives as DIR/outfeed0.npy, ..., and do not print it");
  flags.Add("output", &o.outputs, V::Passing(OutputFileMistake), "[N:]FILE",
            "write all outputs, or output N, as .npz, .npy, .txt, .bin, .pb or");
  flags.Note(std::string(32, ' ') + ".pbtxt (LiteralProto), whole or not at all; repeats");
  flags.Add("reference,reference-platform", &o.reference, V::Passing(ReferenceMistake),
            "NAME[:-O0]", "run there, too, and compare; none (default); or @FILE, as --expected;");
  flags.Note(std::string(32, ' ') +
             "or 'COMMAND {module} {inputs} {outputs}', which leaves out0.npy, ... or prints");
  flags.Add("expected", &o.expected, V::Some(), "WHAT",
            "compare with a .json of testdata/models, a folder of");
  flags.Note(std::string(32, ' ') + "out0.npy, ..., an .npy or .npz file, or a literal");
  flags.Add("check-determinism", &o.check_determinism, V::From(2), "N",
            "run N times, the last time with one thread, and compare every bit");
  flags.Add("abs,abs-error-bound", &o.abs, V::Passing("a number that is not negative", IsTolerance),
            "X", "tolerances: |got - want| <= abs + rel * |want|,");
  flags.Add("rel,rel-error-bound", &o.rel, V::Passing("a number that is not negative", IsTolerance),
            "X", "or at most this many");
  flags.Add("ulps,ulp", &o.ulps, V::Passing("a number that is not negative", IsTolerance), "N",
            "units in the last place; NaN equals NaN");
  flags.Add("tolerance,tol", &o.tolerances, V::Passing(ToleranceMistake), "[OUT:]WORD",
            "of output OUT, or all: RTOL,ATOL, abs=X,rel=X,ulps=N, exact, ignore,");
  flags.Note(std::string(32, ' ') + "or auto: from the operations that compute it; repeats");
  flags.Add("nan", &o.nan, V::Words({"equal", "any", "error"}), "HOW",
            "NaN is equal to NaN (default), to any value, or always an error");
  flags.Add("inf", &o.inf, V::Words({"equal", "any", "error"}), "HOW", "the same for infinities");
  flags.Add("fail-on-nan", &o.fail_on_nan, "exit code 3 where an output holds a NaN");
  flags.Note(
      "Default: integers equal; abs = rel = 1e-9 for f64, 1e-4 for f32, 2e-3 for f16, 2e-2 for "
      "bf16, 0.25 below.");
}

void AddInsideFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Values inside the module");
  flags.Add("first-nan", &o.first_nan,
            "which operation makes the first NaN or infinity out of numbers");
  flags.Add("probe", &o.probe, V::Regex(), "REGEX",
            "print the values of these instructions, each time they are computed");
  flags.Add("compare-stages", &o.compare_stages, V::Some(), "DIR",
            "run the modules of a folder of dumps, numbered as the steps of a compilation,");
  flags.Note(std::string(32, ' ') +
             "with the same inputs: which step changed values; words are inputs");
  flags.Add("isolate,isolate-instructions", &o.isolate, V::Regex(), "[.|REGEX]",
            "run each (of these) operations of the entry alone, on the operands");
  flags.Note(std::string(32, ' ') +
             "the interpreter has, and compare: the worst first, exit code 3");
}

void AddMeasureFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Measuring");
  flags.Add("time", &o.time, "print the times of parse, passes, codegen, load and run");
  flags.Add("time-passes", &o.time_passes,
            "print the time of each pass, and of the steps of code generation");
  flags.Add("transfers", &o.transfers,
            "say what getting inputs to the device, and results back, takes (default: true); runs");
  flags.Note(std::string(32, ' ') + "are measured without");
  flags.Add("bench", &o.bench, "warm up, then run again and again, arguments in memory");
  flags.Add("iterations,num-repeats", &o.iterations, V::From(1), "N",
            "as --bench, but exactly so many runs");
  flags.Add("warmup", &o.warmup, V::From(0), "SECONDS",
            "run so long before measuring (default: 0.2; at least once)");
  flags.Add("bench-min-runs", &o.bench_min_runs, V::From(1).With({"bench", "baseline"}), "N",
            "at least so many runs (default: 10)");
  flags.Add("bench-min-seconds,duration", &o.bench_min_seconds,
            V::From(0).With({"bench", "baseline"}), "X", "and at least so long (default: 1)");
  flags.Add("bench-compiles", &o.bench_compiles, V::From(1), "N",
            "compile so often, report the median (default: 1, which loads the compiler, too)");
  flags.Add("against", &o.against, V::Some().With({"bench"}), "FILE,...",
            "measure these, too, in turns, in one table; --platforms=NAME,... the same on");
  flags.Note(std::string(32, ' ') + "several platforms");
  flags.Add("csv", &o.csv, "print the times of --bench as CSV");
  flags.Add("baseline", &o.baseline, V::Some(), "FILE.json",
            "compare with the times that --json wrote before");
  flags.Add("fail-if-slower", &o.fail_if_slower, V::From(0).With({"baseline"}), "PERCENT",
            "exit code 3 where the median is more than so much above the baseline's");
  flags.Add("json", &o.json, V::Some(), "FILE",
            "write times and comparisons as JSON (- is standard output)");
  flags.Add("profile", &o.profile, V::Some(), "[-|FILE,...]",
            "time each operation; a table, or files: .json, .csv, .svg (roofline),");
  flags.Note(std::string(32, ' ') + ".trace.json (chrome://tracing, Perfetto)");
  flags.Add("profile-trace", &o.profile_trace, V::Some(), "FILE",
            "the operations of --profile on a line of time (chrome://tracing, Perfetto)");
  flags.Add("roofline", &o.roofline, V::Some(), "[roofline.svg|FILE]",
            "the operations of --profile beside what the machine can do (SVG)");
  flags.Add("memory-report,memory", &o.memory_report, V::Some(), "[-|FILE,...]",
            "what memory a run takes, for what, and what becomes of each alias; do not");
  flags.Note(std::string(32, ' ') + "run; text, or files: .json, .svg (time and addresses)");
  flags.Add("xla-memory", &o.xla_memory, V::Some().With({"memory-report"}), "FILE.json",
            "with the figures of XLA beside (scripts/xla_memory.py)");
  flags.Add("trace", &o.trace, V::Some(), "FILE",
            "what each thread of each device does in a run (chrome://tracing, Perfetto)");
  flags.Add("time-trace", &o.time_trace, V::Some(), "FILE",
            "what each thread does while the module is compiled (chrome://tracing, Perfetto)");
  flags.Add("measure-peaks", &o.measure_peaks,
            "print what the platform reaches: operations and bytes in a second");
  flags.Add("progress", &o.progress, V::Words({"auto", "always", "never"}), "WHEN",
            "progress line after one second: auto, always, never");
  flags.Add("memory-limit", &o.memory_limit, V::Passing("a number of bytes such as 512M", IsSize),
            "BYTES", "fail with exit code 4 beyond, e.g. 512M");
  flags.Add("compile-timeout", &o.compile_timeout, V::Between(1e-3, 1e9), "SECONDS",
            "the same for the compilation alone");
  flags.Add("time-limit", &o.time_limit, V::Between(1e-3, 1e9), "SECONDS",
            "end with exit code 6 after so long; in test modes: skip a check that takes longer");
  flags.Add("max-loop-iterations", &o.max_loop_iterations, V::From(0), "N",
            "stop a `while` that runs longer");
}

void AddTestFlags(Flags& flags, ToolOptions& o) {
  using V = FlagValues;
  flags.Group("Test modes");
  flags.Add("check-file", &o.check_file,
            "files say in comments what they expect (testdata/run/README.md), also after --passes");
  flags.Add("check-models", &o.check_models,
            "run .json files, or all of a folder, as --inputs-from --expected");
  flags.Add(
      "platforms", &o.platforms,
      V::Passing(PlatformsMistake).With({"check-file", "check-models", "bench", "iterations"}),
      "NAME,...", "where to check (default: all), or to --bench");
  flags.Add("jobs", &o.jobs, V::Between(1, 1024).With(kCheckModes), "N",
            "checks at the same time (default: one for each processor)");
  flags.AddWith(kCheckModes, "strict", &o.strict, "skipped checks are failures");
  std::vector<std::string_view> taken = kTakenByChecks;
  flags.TakesOnly("check-file", taken);
  taken.insert(taken.end(), kTakenByModels.begin(), kTakenByModels.end());
  flags.TakesOnly("check-models", taken);
  flags.Add("logtostderr", &o.accepted);
  flags.Add("vmodule", &o.accepted_text, V::Any(), "LIST");
  flags.Add("verbose,v", &o.verbose,
            "a line for every check; say which flags of XLA have no effect");
}

}  // namespace

void AddFlags(Flags& flags, ToolOptions& options) {
  flags.Example("hlo-run add.hlo 'f32[2] {1, 2}' x.npy", "run with two inputs");
  flags.Example("hlo-run model.hlo --seed=7 --reference=interpreter", "compare the platforms");
  flags.Example("hlo-run spmd.hlo --num-partitions=4", "run four devices that meet at collectives");
  flags.Example("hlo-run model.hlo --inputs-from=model.json --bench", "measure");
  AddCompilerFlags(flags, options);
  AddDeviceFlags(flags, options);
  AddInputFlags(flags, options);
  AddBufferFlags(flags, options);
  AddOutputFlags(flags, options);
  AddInsideFlags(flags, options);
  AddMeasureFlags(flags, options);
  AddTestFlags(flags, options);
  options.gpu_pass_flags.AddTo(flags);
  flags.Common({"platform",    "passes",         "emit",        "save-executable",
                "threads",     "num-partitions", "spmd",        "single-shard",
                "seed",        "input-dist",     "inputs-from", "input-dir",
                "save-inputs", "donate",         "feed",        "print",
                "output",      "reference",      "expected",    "tolerance",
                "first-nan",   "isolate",        "probe",       "time",
                "bench",       "baseline",       "profile",     "memory-report",
                "trace",       "time-limit",     "check-file"});
  flags.Group("Exit codes");
  flags.Note(
      "0 ok, 1 bad input, 2 usage, 3 mismatch, 4 run time, 5 not supported, 6 time limit, 70 "
      "internal error, 130 a measurement ended by Ctrl-C");
}

}  // namespace hlo
