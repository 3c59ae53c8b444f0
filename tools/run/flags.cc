// The flags of hlo-run with their help texts.
#include <fmt/format.h>

#include "backends/registry.h"
#include "tools/run/options.h"

namespace hlo {
namespace {

void AddCompilerFlags(Flags& flags, ToolOptions& o) {
  flags.Group("Platform and compilation");
  flags.Add("platform,device-type", &o.platform, "NAME",
            fmt::format("where to run (default: {})", DefaultPlatform()));
  for (const BackendInfo& info : AllBackends())
    flags.Note(fmt::format("  {:<14}{}", info.name, info.summary));
  flags.Add("list-platforms", &o.list_platforms, "print the names of the platforms");
  flags.Add("passes", &o.passes, "PIPELINE", "run these passes first (hlo-opt --list-passes)");
  flags.Add("run-passes", &o.run_passes, "run the platform's own passes (default: true)");
  flags.Add("emit", &o.emit, "STAGE,...",
            "print hlo, buffers, tile, thunks, llvm, asm, ptx, kernels; do not run");
  flags.Add("threads,j", &o.threads, "N", "threads of the run (default: one for each processor)");
  flags.Add("denormals", &o.denormals, "MODE",
            "flush (default on cpu) or keep (default elsewhere)");
  flags.Add("cpu-features", &o.cpu_features, "NAME", "use no more than avx512, avx2 or sse");
  flags.Add("sanitize", &o.sanitize,
            "check every access of the kernels of cpu and gpu-sim while they run");
  flags.Add("cpu-kernels", &o.cpu_kernels, "HOW",
            "llvm (default): compile them; evaluate: run them as tile IR");
  flags.Add("doctor", &o.doctor, "say what this machine offers, and what to install");
  flags.Add("kernel-info", &o.kernel_info,
            "print registers, memory and spills of GPU kernels; do not run");
  flags.Add("target", &o.gpu_target, "NAME", "GPU to compile for: sm_80, sm_90 (default), sm_90a");
  flags.Add("xla-gpu-target-config-filename", &o.gpu_target_config, "FILE");
  flags.Add("gpu-sim-seed", &o.gpu_sim_seed, "N", "order in which simulated GPU threads run");
  flags.Add("gpu-sim-sanitize", &o.gpu_sim_sanitize,
            "watch simulated GPU threads: races, bounds, alignment");
  flags.Add("fill-elided", &o.fill_elided, "HOW",
            "values for constants `{...}`: random:SEED, zeros, ones, xla (as XLA's parser)");
}

void AddInputFlags(Flags& flags, ToolOptions& o) {
  flags.Group("Inputs");
  flags.Note(
      "Words after the file are values: literals such as 'f32[2] {1, 2}', .npy, .npz or text "
      "files.");
  flags.Note(
      "One for each array leaf of the parameters, in order; a tuple literal stands for a whole "
      "parameter.");
  flags.Add("input,inputs,args", &o.inputs, "VALUE",
            "as such a word; @FILE is a file; may be repeated");
  flags.Add("input-dir", &o.input_dir, "DIR", "read DIR/arg0.npy, arg1.npy, ...");
  flags.Add("inputs-from", &o.inputs_from, "FILE.json",
            "make them as a file of testdata/models says");
  flags.Add("seed,random-seed", &o.seed, "N",
            "make what is missing from this seed (default: 42 when");
  flags.Note(std::string(32, ' ') + "no input is given); indices stay in range");
  flags.Add("execution-seed", &o.execution_seed, "N", "of `rng` instructions (default: 42)");
}

void AddOutputFlags(Flags& flags, ToolOptions& o) {
  flags.Group("Outputs and comparison");
  flags.Add("print", &o.print, "HOW", "outputs as HLO literals: none, short (default), full");
  flags.Add("output-dir", &o.output_dir, "DIR", "write DIR/out0.npy, out1.npy, ...");
  flags.Add("reference,reference-platform", &o.reference, "NAME", "run there, too, and compare");
  flags.Add("expected", &o.expected, "WHAT",
            "compare with a .json of testdata/models, a folder of");
  flags.Note(std::string(32, ' ') + "out0.npy, ..., an .npy or .npz file, or a literal");
  flags.Add("abs,abs-error-bound", &o.abs, "X", "tolerances: |got - want| <= abs + rel * |want|,");
  flags.Add("rel,rel-error-bound", &o.rel, "X", "or at most this many");
  flags.Add("ulps,ulp", &o.ulps, "N", "units in the last place; NaN equals NaN");
  flags.Note(
      "Default: integers equal; abs = rel = 1e-9 for f64, 1e-4 for f32, 2e-3 for f16, 2e-2 for "
      "bf16, 0.25 below.");
}

void AddMeasureFlags(Flags& flags, ToolOptions& o) {
  flags.Group("Measuring");
  flags.Add("time", &o.time, "print the times of parse, passes, codegen, load and run");
  flags.Add("bench", &o.bench, "warm up, then run again and again, arguments in memory");
  flags.Add("bench-min-runs", &o.bench_min_runs, "N", "at least so many runs (default: 10)");
  flags.Add("bench-min-seconds", &o.bench_min_seconds, "X", "and at least so long (default: 1)");
  flags.Add("bench-compiles", &o.bench_compiles, "N",
            "compile so often, report the median (default: 1, which loads the compiler, too)");
  flags.Add("json", &o.json, "FILE", "write the times as JSON (- is standard output)");
  flags.Add("progress", &o.progress, "WHEN", "progress line after one second: auto, always, never");
  flags.Add("memory-limit", &o.memory_limit, "BYTES", "fail with exit code 4 beyond, e.g. 512M");
  flags.Add("max-loop-iterations", &o.max_loop_iterations, "N", "stop a `while` that runs longer");
}

void AddTestFlags(Flags& flags, ToolOptions& o) {
  flags.Group("Test modes");
  flags.Add("check-file", &o.check_file,
            "files say in comments what they expect (testdata/run/README.md)");
  flags.Add("check-models", &o.check_models,
            "run .json files, or all of a folder, as --inputs-from --expected");
  flags.Add("platforms", &o.platforms, "NAME,...", "where to check (default: all)");
  flags.Add("time-limit", &o.time_limit, "SECONDS",
            "of each check; a slower one counts as skipped");
  flags.Add("jobs", &o.jobs, "N", "checks at the same time (default: one for each processor)");
  flags.Add("strict", &o.strict, "skipped checks are failures");
  flags.Add("verbose,v", &o.verbose, "a line for every check");
}

}  // namespace

void AddFlags(Flags& flags, ToolOptions& options) {
  flags.Example("hlo-run add.hlo 'f32[2] {1, 2}' x.npy", "run with two inputs");
  flags.Example("hlo-run model.hlo --seed=7 --reference=interpreter", "compare the platforms");
  flags.Example("hlo-run model.hlo --inputs-from=model.json --bench", "measure");
  AddCompilerFlags(flags, options);
  AddInputFlags(flags, options);
  AddOutputFlags(flags, options);
  AddMeasureFlags(flags, options);
  AddTestFlags(flags, options);
  flags.Group("Exit codes");
  flags.Note(
      "0 ok, 1 bad input, 2 usage, 3 mismatch, 4 run time, 5 not supported, 6 time limit, 70 "
      "internal error");
}

}  // namespace hlo
