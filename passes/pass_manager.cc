#include "passes/pass_manager.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <regex>

#include "lib/analysis/schedule.h"
#include "lib/ir/compare.h"
#include "lib/support/contains.h"
#include "lib/support/crash_context.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/line_diff.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "lib/support/time_trace.h"
#include "passes/registry.h"

namespace hlo {
namespace {

double ProcessorMilliseconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t PeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

class Runner {
 public:
  Runner(Module& module, PassContext& context, const Instrumentation& in,
         const std::function<void(const FailureReport&)>& on_failure)
      : module_(module), context_(context), in_(in), on_failure_(on_failure) {
    if (!in_.dump_pass_regex.empty()) dumped_passes_.emplace(in_.dump_pass_regex);
  }

  absl::StatusOr<bool> Run(const Pipeline& pipeline) {
    context_.analyses().Forget();  // whoever had the module before may have changed it
    // Numbers go by place from here on: what is known by number stays true while nothing changes.
    module_.Sweep();
    ASSIGN_OR_RETURN(const bool changed, RunItems(pipeline));
    if (!unverified_.empty()) RETURN_IF_ERROR(VerifyNow(""));
    RETURN_IF_ERROR(Dump("pipeline-end"));
    return changed;
  }

  PipelineResult result;

 private:
  absl::StatusOr<bool> RunItems(const Pipeline& pipeline) {
    bool changed = false;
    for (const PipelineItem& item : pipeline) {
      ASSIGN_OR_RETURN(const bool item_changed, item.is_fix()      ? RunFix(item)
                                                : item.is_repeat() ? RunRepeat(item)
                                                                   : RunPass(item));
      changed |= item_changed;
    }
    return changed;
  }

  absl::StatusOr<bool> RunRepeat(const PipelineItem& item) {
    bool changed = false;
    for (int64_t round = 0; round < item.limit; ++round) {
      ASSIGN_OR_RETURN(const bool round_changed, RunItems(item.children));
      DebugRound(item, round, round_changed);
      changed |= round_changed;
    }
    return changed;
  }

  absl::StatusOr<bool> RunFix(const PipelineItem& item) {
    // Few pipelines need more rounds than this; hashing would only cost the others time.
    constexpr int64_t kFirstHashed = 4;
    std::map<uint64_t, int64_t> seen;  // round by content
    bool changed = false;
    for (int64_t round = 0; round < item.limit; ++round) {
      const size_t first_run = result.runs.size();
      ASSIGN_OR_RETURN(const bool round_changed, RunItems(item.children));
      DebugRound(item, round, round_changed);
      if (!round_changed) return changed;
      changed = true;
      if (round + 1 < kFirstHashed || IsDone()) continue;
      const auto [it, fresh] = seen.emplace(ContentHash(module_), round);
      if (fresh) continue;
      const std::string who = Undoing(first_run);
      ASSIGN_OR_RETURN(const std::string what, OneMoreRound(item));
      return Error(
          "`fix({})` goes in a circle: after round {} the module is as after round {}; {}{}",
          ToText(item.children), round + 1, it->second + 1, who, what);
    }
    return Error(
        "`fix({})` still changes the module after {} rounds; {}", ToText(item.children), item.limit,
        Undoing(result.runs.size() - std::min<size_t>(result.runs.size(), item.children.size())));
  }

  // Runs the passes of a `fix` once more: "; `a` makes `x = …` of `y = …`" for each that changes
  // something, by the first line that it changes.
  absl::StatusOr<std::string> OneMoreRound(const PipelineItem& item) {
    std::string changes;
    for (const PipelineItem& child : item.children) {
      const std::string before = ToText(module_, PrintOptions::ShortParsable());
      ASSIGN_OR_RETURN(const bool changed, RunItems({child}));
      if (!changed) continue;
      const std::string after = ToText(module_, PrintOptions::ShortParsable());
      const std::vector<std::string_view> old_lines = Split(before, '\n');
      const std::vector<std::string_view> new_lines = Split(after, '\n');
      const auto [old_line, new_line] =
          std::mismatch(old_lines.begin(), old_lines.end(), new_lines.begin(), new_lines.end());
      if (old_line == old_lines.end() || new_line == new_lines.end()) continue;
      changes += fmt::format("; `{}` makes `{}` of `{}`", ToText({child}), Trim(*new_line),
                             Trim(*old_line));
    }
    return changes;
  }

  // The passes that changed something from run `first` on.
  std::string Undoing(size_t first) const {
    std::vector<std::string> names;
    for (size_t i = first; i < result.runs.size(); ++i) {
      const PassRun& run = result.runs[i];
      if (run.changed && !Contains(names, run.name)) names.push_back(run.name);
    }
    return fmt::format("in the last round {} changed it", Join(names, ", "));
  }

  // Whether what follows is still among the passes that have been run.
  bool IsDone() const { return result.runs.size() < in_.done.size(); }

  // Whether the pass is left out, by name or number.
  bool Skips(const std::string& name) {
    const int64_t number = ++seen_[name];
    const auto is_at = [&](const PassPlace& place) {
      return place.name == name && place.number == number;
    };
    started_ = started_ || (in_.start_at.name.empty() && in_.start_after.name.empty()) ||
               is_at(in_.start_at);
    const bool skip =
        !started_ || stopped_ || Contains(in_.disabled, name) ||
        (!in_.only.empty() && !Contains(in_.only, name)) ||
        (in_.bisect_limit >= 0 && static_cast<int64_t>(result.runs.size()) >= in_.bisect_limit);
    stopped_ = stopped_ || (!skip && is_at(in_.stop_after));
    started_ = started_ || is_at(in_.start_after);
    return skip;
  }

  absl::StatusOr<bool> RunPass(const PipelineItem& item) {
    const bool skips = Skips(item.name);
    if (IsDone()) {
      result.runs.push_back(in_.done[result.runs.size()]);
      return result.runs.back().changed;
    }
    PassRun run;
    run.name = item.name;
    run.instructions_before = run.instructions_after = module_.instruction_count();
    const auto number = static_cast<int64_t>(result.runs.size()) + 1;
    if (in_.print_bisect) {
      Sink(fmt::format("BISECT: {} pass ({}) {} on {}\n", skips ? "NOT running" : "running", number,
                       item.name, module_.name()));
    }
    if (skips) {
      run.skipped = true;
      result.runs.push_back(std::move(run));
      return false;
    }
    const CrashLine line("running pass", item.name);
    if (in_.on_start != nullptr) in_.on_start(item, started_passes_);
    ++started_passes_;
    RETURN_IF_ERROR(Dump(item.name));
    if (in_.print_before_all || Contains(in_.print_before, item.name)) Show("before", item.name);
    if (in_.print_pass_names) Sink(fmt::format("running pass {}\n", item.name));
    const uint64_t fingerprint = in_.check_changed_flag ? ContentHash(module_) : 0;
    if (in_.print_changed == PrintChanged::kDiff && diff_base_.empty()) diff_base_ = Printed();
    ASSIGN_OR_RETURN(const PassInfo* info, GetPass(item.name, item.loc));
    ASSIGN_OR_RETURN(const std::unique_ptr<Pass> pass, info->make(item.options, info->name));
    if (in_.before_pass != nullptr) RETURN_IF_ERROR(in_.before_pass(item, module_));
    context_.set_pass(item.name, number);
    if (in_.check_analyses) context_.analyses().AskAll(module_);
    const double processor = in_.measure_processor ? ProcessorMilliseconds() : 0;
    const double start = Now();
    absl::StatusOr<bool> changed = [&] {
      const TimeSpan span("pass", item.name);
      return pass->Run(module_, context_);
    }();
    run.milliseconds = Now() - start;
    if (in_.measure_processor) run.processor_ms = ProcessorMilliseconds() - processor;
    if (!changed.ok()) {
      Report(item);
      return AddPrefix(changed.status(), fmt::format("pass `{}` failed", item.name));
    }
    UpdateSchedules(module_);
    module_.Sweep();
    if (*changed) context_.analyses().Forget(info->preserved());
    run.changed = *changed;
    run.instructions_after = module_.instruction_count();
    run.peak_bytes = PeakBytes();
    if (const absl::Status status = CheckAfter(item, *changed, fingerprint); !status.ok()) {
      Report(item);
      return status;
    }
    if (in_.print_after_all || Contains(in_.print_after, item.name)) Show("after", item.name);
    if (*changed) ShowChange(item.name);
    DebugPass(run);
    result.runs.push_back(std::move(run));
    if (*changed) changed_by_ = item.name;
    return *changed;
  }

  void DebugPass(const PassRun& run) {
    if (Contains(in_.debug, "passes")) {
      Sink(fmt::format("debug: passes: {} {} in {:.3f} ms, {} -> {} instructions\n", run.name,
                       run.changed ? "changed the module" : "changed nothing", run.milliseconds,
                       run.instructions_before, run.instructions_after));
    }
    if (Contains(in_.debug, "analyses")) {
      const std::string known = context_.analyses().Known();
      Sink(fmt::format("debug: analyses: after {}: {}; {} made so far\n", run.name,
                       known.empty() ? "none" : known, context_.analyses().made()));
    }
  }

  void DebugRound(const PipelineItem& item, int64_t round, bool changed) {
    if (!Contains(in_.debug, "fix")) return;
    Sink(fmt::format("debug: fix: round {} of {}({}) changed {}\n", round + 1, item.name,
                     ToText(item.children), changed ? "the module" : "nothing"));
  }

  void ShowChange(std::string_view pass) {
    switch (in_.print_changed) {
      case PrintChanged::kNo: return;
      case PrintChanged::kNames: return ShowName(pass);
      case PrintChanged::kModule: return Show("after", pass);
      case PrintChanged::kDiff: break;
    }
    std::string text = Printed();
    const std::string diff = LineDiff(diff_base_, text, {.color = in_.color});
    diff_base_ = std::move(text);
    if (!diff.empty() && ShowsPass(pass))
      Sink(fmt::format("// *** HLO changed by {} ***\n{}", pass, diff));
  }

  bool ShowsPass(std::string_view pass) const {
    return in_.filter_passes.empty() || Contains(in_.filter_passes, pass);
  }
  std::string Printed() const {
    return in_.printed_text == nullptr ? ToText(module_, in_.print) : in_.printed_text(module_);
  }

  void ShowName(std::string_view pass) {
    if (ShowsPass(pass) && !Printed().empty())
      Sink(fmt::format("// *** HLO changed by {} ***\n", pass));
  }

  // An error begins with `blame`; passes that say they changed nothing since the last
  // time share it.
  absl::Status VerifyNow(std::string blame) {
    const CrashLine line("verifying the module");
    const TimeSpan span("verify");
    const double start = Now();
    const absl::Status status = Verify(module_, in_.verifier);
    result.verify_milliseconds += Now() - start;
    if (!unverified_.empty() && !status.ok()) {
      blame += fmt::format("{}`{}`, which {} nothing was changed", blame.empty() ? "" : ", or ",
                           Join(unverified_, "`, `"), unverified_.size() == 1 ? "says" : "say");
      if (blame.starts_with('`')) blame = "the module is broken by " + blame;
    }
    unverified_.clear();
    return status.ok() ? status : AddPrefix(status, blame);
  }

  absl::Status CheckAfter(const PipelineItem& item, bool changed, uint64_t fingerprint) {
    const std::string& pass = item.name;
    if (in_.verify_each && (changed || in_.check_changed_flag)) {
      RETURN_IF_ERROR(VerifyNow(fmt::format("pass `{}` broke the module", pass)));
    } else if (in_.verify_each && !Contains(unverified_, pass)) {
      unverified_.push_back(pass);
    }
    if (in_.check_changed_flag && !changed && ContentHash(module_) != fingerprint) {
      return Internal("pass `{}` changed the module but says that it did not", pass);
    }
    if (in_.check_analyses) {
      const std::string mistake = context_.analyses().FirstMistake(module_);
      if (!mistake.empty()) {
        return Internal("pass `{}` says that it {}, but an analysis is wrong after it, {}", pass,
                        changed ? "keeps what is known" : "changed nothing", mistake);
      }
    }
    if (in_.after_pass != nullptr) return in_.after_pass(item, module_, changed);
    return absl::OkStatus();
  }

  void Report(const PipelineItem& item) {
    if (in_.print_after_failure) Show("after failure of", item.name);
    if (on_failure_ != nullptr)
      on_failure_({item.name, ToText({item}), static_cast<int64_t>(result.runs.size())});
  }

  void Sink(std::string_view text) {
    if (in_.sink != nullptr) {
      in_.sink(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
  }

  void Show(std::string_view when, std::string_view pass) {
    if (!ShowsPass(pass)) return;
    const std::string text = Printed();
    if (!text.empty()) Sink(fmt::format("// *** HLO {} {} ***\n{}", when, pass, text));
  }

  // The module after the last pass that changed it, in a file that names this pass and the next.
  absl::Status Dump(std::string_view next) {
    if (in_.dump_directory.empty() || changed_by_.empty()) return absl::OkStatus();
    if (dumped_passes_ && !std::regex_search(changed_by_, *dumped_passes_) &&
        !std::regex_search(next.begin(), next.end(), *dumped_passes_)) {
      changed_by_.clear();
      return absl::OkStatus();
    }
    const std::string name =
        fmt::format("module_{:04d}.{}.{:04d}.transforms_pipeline.after_{}.before_{}.txt",
                    in_.dump_number, module_.name(), dumps_++, changed_by_, next);
    changed_by_.clear();
    const auto last = std::find_if(result.runs.rbegin(), result.runs.rend(),
                                   [](const PassRun& run) { return run.changed; });
    (last == result.runs.rend() ? result.first_dump : last->dump) = name;
    return WriteFile(in_.dump_directory + "/" + name, ToText(module_, in_.print));
  }

  Module& module_;
  PassContext& context_;
  const Instrumentation& in_;
  const std::function<void(const FailureReport&)>& on_failure_;
  bool started_ = false, stopped_ = false;
  std::map<std::string, int64_t> seen_;  // passes by name
  std::vector<std::string> unverified_;  // passes after the last check of the module
  std::string diff_base_;
  std::string changed_by_ = "pipeline-start";  // not dumped yet
  int64_t dumps_ = 0;
  std::optional<std::regex> dumped_passes_;
  int64_t started_passes_ = 0;
};

}  // namespace

absl::StatusOr<PassPlace> ParsePassPlace(std::string_view text) {
  PassPlace place{std::string(text.substr(0, text.find('#')))};
  if (place.name.size() == text.size()) return place;
  const auto number = ReadNumber<decltype(place.number)>(text.substr(place.name.size() + 1));
  if (!number || *number < 1)
    return Error("expected PASS or PASS#N with N from 1, found `{}`", text);
  place.number = *number;
  return place;
}

absl::StatusOr<PipelineResult> RunPipeline(
    const Pipeline& pipeline, Module& module, PassContext& context,
    const Instrumentation& instrumentation,
    const std::function<void(const FailureReport&)>& on_failure) {
  Runner runner(module, context, instrumentation, on_failure);
  runner.result.first_peak_bytes = PeakBytes();
  ASSIGN_OR_RETURN(runner.result.changed, runner.Run(pipeline));
  return std::move(runner.result);
}

absl::StatusOr<PipelineResult> RunPipelineText(std::string_view text, Module& module,
                                               PassContext& context,
                                               const Instrumentation& instrumentation) {
  absl::StatusOr<Pipeline> pipeline = ParsePipeline(text);
  if (!pipeline.ok())
    return Internal("built-in pipeline `{}`: {}", text, pipeline.status().ToString());
  return RunPipeline(*pipeline, module, context, instrumentation);
}

std::string TimeTable(const PipelineResult& result, bool with_memory) {
  struct Row {
    double total = 0, processor = 0;
    int runs = 0;
    int changed = 0;
    int64_t raised = 0;  // bytes that the peak of the memory grew by
  };
  std::map<std::string, Row> rows;
  Row all;
  int64_t peak = result.first_peak_bytes;
  for (const PassRun& run : result.runs) {
    const int64_t raised = std::max<int64_t>(0, run.peak_bytes - peak);
    peak += raised;
    for (Row* row : {&rows[run.name], &all}) {
      row->total += run.milliseconds;
      row->processor += run.processor_ms;
      ++row->runs;
      row->changed += run.changed ? 1 : 0;
      row->raised += raised;
    }
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  absl::c_stable_sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  const auto mebibytes = [&](int64_t bytes) {
    return with_memory ? fmt::format(" {:10.1f}", static_cast<double>(bytes) / (1 << 20)) : "";
  };
  const auto processor = [&](double milliseconds) {
    return all.processor > 0 ? fmt::format(" {:12.3f}", milliseconds) : "";
  };
  std::string out =
      fmt::format("{:>12}{} {:>7} {:>6} {:>8}{}  {}\n", "time (ms)",
                  all.processor > 0 ? fmt::format(" {:>12}", "cpu (ms)") : "", "%", "runs",
                  "changed", with_memory ? fmt::format(" {:>10}", "+MiB") : "", "pass");
  for (const auto& [name, row] : sorted) {
    out += fmt::format("{:12.3f}{} {:6.1f}% {:6} {:8}{}  {}\n", row.total, processor(row.processor),
                       all.total > 0 ? 100 * row.total / all.total : 0, row.runs, row.changed,
                       mebibytes(row.raised), name);
  }
  out += fmt::format("{:12.3f}{} {:6.1f}% {:6} {:>8}{}  total\n", all.total,
                     processor(all.processor), 100.0, all.runs, "", mebibytes(all.raised));
  out += fmt::format("{:12.3f}{} {:>7} {:>6} {:>8}{}  verifier\n", result.verify_milliseconds,
                     all.processor > 0 ? std::string(13, ' ') : "", "", "", "",
                     with_memory ? std::string(11, ' ') : "");
  if (with_memory) {
    out += fmt::format("peak of the process: {:.1f} MiB, {:.1f} MiB before the passes\n",
                       static_cast<double>(peak) / (1 << 20),
                       static_cast<double>(result.first_peak_bytes) / (1 << 20));
  }
  return out;
}

}  // namespace hlo
