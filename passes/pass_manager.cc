#include "passes/pass_manager.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "lib/analysis/schedule.h"
#include "lib/ir/compare.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/line_diff.h"
#include "lib/support/strings.h"
#include "passes/registry.h"

namespace hlo {
namespace {

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Runner {
 public:
  Runner(Module& module, PassContext& context, const Instrumentation& in,
         const std::function<void(const FailureReport&)>& on_failure)
      : module_(module), context_(context), in_(in), on_failure_(on_failure) {}

  absl::StatusOr<bool> Run(const Pipeline& pipeline) {
    ASSIGN_OR_RETURN(const bool changed, RunItems(pipeline));
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
      if (!round_changed) return changed;
      changed = true;
      if (round + 1 < kFirstHashed) continue;
      const auto [it, fresh] = seen.emplace(ContentHash(module_), round);
      if (fresh) continue;
      return Error("`fix({})` goes in a circle: after round {} the module is as after round {}; {}",
                   ToText(item.children), round + 1, it->second + 1, Undoing(first_run));
    }
    return Error(
        "`fix({})` still changes the module after {} rounds; {}", ToText(item.children), item.limit,
        Undoing(result.runs.size() - std::min<size_t>(result.runs.size(), item.children.size())));
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

  // Whether the pass is left out, by name or number.
  bool Skips(const std::string& name) {
    started_ =
        started_ || (in_.start_at.empty() && in_.start_after.empty()) || name == in_.start_at;
    const bool skip =
        !started_ || stopped_ || Contains(in_.disabled, name) ||
        (!in_.only.empty() && !Contains(in_.only, name)) ||
        (in_.bisect_limit >= 0 && static_cast<int64_t>(result.runs.size()) >= in_.bisect_limit);
    stopped_ = stopped_ || (!skip && name == in_.stop_after);
    started_ = started_ || name == in_.start_after;
    return skip;
  }

  absl::StatusOr<bool> RunPass(const PipelineItem& item) {
    PassRun run;
    run.name = item.name;
    run.instructions_before = run.instructions_after = module_.instruction_count();
    if (Skips(item.name)) {
      run.skipped = true;
      result.runs.push_back(std::move(run));
      return false;
    }
    RETURN_IF_ERROR(Dump(item.name));
    if (in_.print_before_all || Contains(in_.print_before, item.name)) Show("before", item.name);
    if (in_.print_pass_names) Sink(fmt::format("running pass {}\n", item.name));
    const uint64_t fingerprint = in_.check_changed_flag ? ContentHash(module_) : 0;
    if (in_.print_changed == PrintChanged::kDiff && diff_base_.empty())
      diff_base_ = ToText(module_, in_.print);
    ASSIGN_OR_RETURN(const PassInfo* info, GetPass(item.name, item.loc));
    ASSIGN_OR_RETURN(const std::unique_ptr<Pass> pass, info->make(item.options, item.name));
    if (in_.before_pass != nullptr) RETURN_IF_ERROR(in_.before_pass(item, module_));
    context_.set_pass(item.name, static_cast<int64_t>(result.runs.size()) + 1);
    const double start = Now();
    absl::StatusOr<bool> changed = pass->Run(module_, context_);
    run.milliseconds = Now() - start;
    if (!changed.ok()) {
      Report(item);
      return AddPrefix(changed.status(), fmt::format("pass `{}` failed", item.name));
    }
    UpdateSchedules(module_);
    module_.Sweep();
    run.changed = *changed;
    run.instructions_after = module_.instruction_count();
    if (const absl::Status status = CheckAfter(item, *changed, fingerprint); !status.ok()) {
      Report(item);
      return status;
    }
    if (in_.print_after_all || Contains(in_.print_after, item.name)) Show("after", item.name);
    if (*changed) ShowChange(item.name);
    result.runs.push_back(std::move(run));
    if (*changed) changed_by_ = item.name;
    return *changed;
  }

  void ShowChange(std::string_view pass) {
    switch (in_.print_changed) {
      case PrintChanged::kNo: return;
      case PrintChanged::kNames: return Sink(fmt::format("// *** HLO changed by {} ***\n", pass));
      case PrintChanged::kModule: return Show("after", pass);
      case PrintChanged::kDiff: break;
    }
    std::string text = ToText(module_, in_.print);
    Sink(fmt::format("// *** HLO changed by {} ***\n{}", pass,
                     LineDiff(diff_base_, text, {.color = in_.color})));
    diff_base_ = std::move(text);
  }

  absl::Status CheckAfter(const PipelineItem& item, bool changed, uint64_t fingerprint) {
    const std::string& pass = item.name;
    if (in_.verify_each) {
      const double start = Now();
      const absl::Status status = Verify(module_, in_.verifier);
      result.verify_milliseconds += Now() - start;
      if (!status.ok()) return AddPrefix(status, fmt::format("pass `{}` broke the module", pass));
    }
    if (in_.check_changed_flag && !changed && ContentHash(module_) != fingerprint) {
      return Internal("pass `{}` changed the module but says that it did not", pass);
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
    Sink(fmt::format("// *** HLO {} {} ***\n{}", when, pass, ToText(module_, in_.print)));
  }

  // The module after the last pass that changed it, in a file that names this pass and the next.
  absl::Status Dump(std::string_view next) {
    if (in_.dump_directory.empty() || changed_by_.empty()) return absl::OkStatus();
    const std::string path = fmt::format(
        "{}/module_{:04d}.{}.{:04d}.transforms_pipeline.after_{}.before_{}.txt", in_.dump_directory,
        in_.dump_number, module_.name(), dumps_++, changed_by_, next);
    changed_by_.clear();
    return WriteFile(path, ToText(module_, in_.print));
  }

  Module& module_;
  PassContext& context_;
  const Instrumentation& in_;
  const std::function<void(const FailureReport&)>& on_failure_;
  bool started_ = false, stopped_ = false;
  std::string diff_base_;
  std::string changed_by_ = "pipeline-start";  // not dumped yet
  int64_t dumps_ = 0;
};

}  // namespace

absl::StatusOr<PipelineResult> RunPipeline(
    const Pipeline& pipeline, Module& module, PassContext& context,
    const Instrumentation& instrumentation,
    const std::function<void(const FailureReport&)>& on_failure) {
  Runner runner(module, context, instrumentation, on_failure);
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

std::string TimeTable(const PipelineResult& result) {
  struct Row {
    double total = 0;
    int runs = 0;
    int changed = 0;
  };
  std::map<std::string, Row> rows;
  double total = 0;
  for (const PassRun& run : result.runs) {
    Row& row = rows[run.name];
    row.total += run.milliseconds;
    ++row.runs;
    row.changed += run.changed ? 1 : 0;
    total += run.milliseconds;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  std::string out =
      fmt::format("{:>12} {:>7} {:>6} {:>8}  {}\n", "time (ms)", "%", "runs", "changed", "pass");
  for (const auto& [name, row] : sorted) {
    out += fmt::format("{:12.3f} {:6.1f}% {:6} {:8}  {}\n", row.total,
                       total > 0 ? 100 * row.total / total : 0, row.runs, row.changed, name);
  }
  out += fmt::format("{:12.3f} {:6.1f}% {:6} {:>8}  total\n", total, 100.0, result.runs.size(), "");
  out +=
      fmt::format("{:12.3f} {:>7} {:>6} {:>8}  verifier\n", result.verify_milliseconds, "", "", "");
  return out;
}

}  // namespace hlo
