#include "tools/opt/bisect.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "tools/support/halve.h"

namespace hlo {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

class Bisector {
 public:
  Bisector(const Pipeline& pipeline, const Instrumentation& instrumentation,
           const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load,
           const std::function<absl::StatusOr<bool>(const Module&)>& fails)
      : pipeline_(pipeline), instrumentation_(instrumentation), load_(load), fails_(fails) {}

  absl::StatusOr<BisectResult> Run() {
    ASSIGN_OR_RETURN(const bool last_fails, Fails(-1, kAll));
    const std::vector<PassRun> runs = runs_;
    if (!last_fails) return Found({-1, 0});
    ASSIGN_OR_RETURN(const bool first_fails, Fails(0, kAll));
    if (first_fails) return Found({0, 0});
    keeps_good_ = true;
    ASSIGN_OR_RETURN(Place place, Search(static_cast<int64_t>(runs.size())));
    keeps_good_ = false;
    good_.reset();
    ASSIGN_OR_RETURN(const bool is_right, IsFirst(place));
    if (!is_right) {
      ASSIGN_OR_RETURN(place, Search(static_cast<int64_t>(runs.size())));
      RETURN_IF_ERROR(IsFirst(place).status());  // once more, for the rule
    }
    result_.pass = runs[static_cast<size_t>(place.pass - 1)].name;
    return Found(place);
  }

 private:
  struct Place {
    int64_t pass = 0;     // from 1
    int64_t rewrite = 0;  // of that pass, from 1; 0: all of them, or none is counted
  };

  BisectResult Found(const Place& place) {
    result_.pass_number = place.pass;
    result_.rewrite = std::max<int64_t>(place.rewrite, 0);
    if (place.rewrite > 0) result_.rule = last_rewrite_;
    return result_;
  }

  // The first of `passes` passes after which the command fails, and the first of its rewrites.
  absl::StatusOr<Place> Search(int64_t passes) {
    Place place;
    ASSIGN_OR_RETURN(place.pass, FirstByHalving(passes, [&](int64_t n) { return Fails(n, kAll); }));
    ASSIGN_OR_RETURN(const bool all, Fails(place.pass, kAll));
    const int64_t count = rewrites_;
    ASSIGN_OR_RETURN(const bool none, Fails(place.pass, 0));
    if (!all || none || count == 0) return place;
    ASSIGN_OR_RETURN(place.rewrite,
                     FirstByHalving(count, [&](int64_t n) { return Fails(place.pass, n); }));
    return place;
  }

  // Whether the command fails there and not just before.
  absl::StatusOr<bool> IsFirst(const Place& place) {
    ASSIGN_OR_RETURN(const bool before, place.rewrite > 0 ? Fails(place.pass, place.rewrite - 1)
                                                          : Fails(place.pass - 1, kAll));
    ASSIGN_OR_RETURN(const bool there, Fails(place.pass, place.rewrite > 0 ? place.rewrite : kAll));
    return there && !before;
  }

  // Whether the command fails after the first `passes` passes (-1: all), the last of which may
  // rewrite `rewrites` times.
  absl::StatusOr<bool> Fails(int64_t passes, int64_t rewrites) {
    std::unique_ptr<Module> module;
    Instrumentation in = instrumentation_;
    in.bisect_limit = passes;
    if (good_ != nullptr) {
      module = good_->Clone();
      in.done = good_runs_;
    } else {
      ASSIGN_OR_RETURN(module, load_());
    }
    rewrites_ = 0;
    last_rewrite_.clear();
    PassContext context;
    context.set_may_rewrite([&] {
      if (context.pass_number() != passes) return true;
      if (rewrites_ >= rewrites) return false;
      ++rewrites_;
      return true;
    });
    context.set_rule_trace([&](std::string_view rule, const Instruction& old, const Instruction&) {
      if (context.pass_number() == passes)
        last_rewrite_ = fmt::format("`{}` on `{}`", rule, old.name());
    });
    ASSIGN_OR_RETURN(const PipelineResult result, RunPipeline(pipeline_, *module, context, in));
    runs_ = result.runs;
    for (size_t i = in.done.size(); i < runs_.size(); ++i)
      result_.passes_run += runs_[i].skipped ? 0 : 1;
    ++result_.tests;
    ASSIGN_OR_RETURN(const bool fails, fails_(*module));
    if (keeps_good_ && !fails && rewrites == kAll) {
      good_ = std::move(module);
      good_runs_.assign(runs_.begin(), runs_.begin() + passes);
    }
    return fails;
  }

  const Pipeline& pipeline_;
  const Instrumentation& instrumentation_;
  const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load_;
  const std::function<absl::StatusOr<bool>(const Module&)>& fails_;
  BisectResult result_;
  std::vector<PassRun> runs_;
  bool keeps_good_ = false;       // good_ follows the answers
  std::unique_ptr<Module> good_;  // after the passes of good_runs_; null: each try reads the input
  std::vector<PassRun> good_runs_;
  int64_t rewrites_ = 0;
  std::string last_rewrite_;
};

}  // namespace

absl::StatusOr<BisectResult> Bisect(
    const Pipeline& pipeline, const Instrumentation& instrumentation,
    const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load,
    const std::function<absl::StatusOr<bool>(const Module&)>& fails) {
  return Bisector(pipeline, instrumentation, load, fails).Run();
}

}  // namespace hlo
