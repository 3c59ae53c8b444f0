// The flags of hlo-opt.
#pragma once

#include <string>
#include <vector>

#include "tools/support/flags.h"
#include "tools/support/gpu_pass_flags.h"
#include "tools/support/random_arguments.h"
#include "tools/support/tool_support.h"

namespace hlo {

struct OptOptions {
  std::string output = "-";
  std::string output_dir;
  std::string passes;
  std::string platform = "transforms";
  std::string stage = "hlo";
  std::string gpu_target, gpu_target_config;  // support/gpu_target.h
  std::string emit = "hlo";
  std::string color_by = "kind";  // of pictures: node_colors.h
  std::string format;             // of the input; what it is, is seen from its bytes
  bool emit_proto = false;        // XLA's name of --emit=pbtxt
  bool split = false;
  bool disable_output = false;
  std::string separator;

  bool list_passes = false, list_stages = false, list_ops = false, list_types = false,
       list_targets = false, list_print_options = false, print_pipeline = false, self_test = false;
  std::string print_analysis;  // names of lib/analysis/print.h, instead of the module
  std::string print_passes;    // a regular expression for names; empty: not asked for

  bool update_checks = false;
  bool verify_diagnostics = false;
  bool verify_input = true, verify_each = true, verify_only = false, verify_roundtrip = false,
       check_changed_flag = false, check_analyses = false;
  int64_t max_errors = 0;  // 0: 10, or all with verify_only

  std::string time_passes, stats;  // "", "table" or "json"
  std::string json;                // file for everything measured
  std::string remarks;             // "" or what to show
  std::string remarks_format = "text";
  bool print_before_all = false, print_after_all = false, print_pass_names = false;
  std::string print_changed;
  std::string print_before, print_after;
  std::string filter_passes, filter_modules, filter_computations, filter_ops;  // of what is printed
  bool pass_summary = false;
  bool stats_json = false;
  bool canonicalize_names = false;
  std::string strip;       // parts.h
  std::string time_trace;  // file
  bool trace_rules = false;
  bool track_memory = false;  // in the table of times
  std::string debug_only;     // subjects of the pass manager
  int64_t threads = 0;        // 0: one for each processor
  std::string dump_directory;
  std::string xla_dump_to, xla_dump_pass_re;

  std::string disable, xla_disable, only, disable_rules, start_at, start_after, stop_after;
  std::string debug_counter;  // the rewrites of a pass that are made: PASS:FIRST-LAST, from 0
  bool converge = false;      // --passes=fix(…)
  int64_t level = -1;         // -O: 0 nothing, 1 simplify, 2 and 3 the platform's pipeline
  bool print_after_failure = false;
  bool disable_all = false;
  int64_t bisect_limit = -1, rewrite_limit = -1;
  int64_t check_equivalence = 0, seed = kDefaultSeed;
  // Of one loop under --check-equivalence; with inputs that it was not made for it may never end.
  int64_t max_loop_iterations = 1'000'000;
  std::string bisect;
  bool reproducer = true;
  // Of the handler of a crash: write the module before this pass (from 0) to a file, and end.
  int64_t reproduce_before = -1;
  std::string reproduce_to;
  double time_limit = 0;
  std::string progress = "auto";
  std::string fill_elided;
  std::string cpu_features;
  std::string expect_equal;
  bool expect_equal_layouts = false;
  std::string color = "auto";
  std::string verbosity, vmodule;  // of XLA; accepted
  bool logtostderr = false;
  PrintFlags print;
  GpuPassFlags gpu_pass_flags;
};

// Declares the flags; their values go to `options`.
void AddOptFlags(Flags& flags, OptOptions& options);
// Values that are no word of their flag, and flags that exclude each other; usage errors.
absl::Status CheckOptFlags(const Flags& flags, const OptOptions& options);
// How many messages one check of a module may give.
int MaxErrors(const OptOptions& options);

}  // namespace hlo
