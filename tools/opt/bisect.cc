#include "tools/opt/bisect.h"

#include <limits>

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
    int64_t high = static_cast<int64_t>(runs_.size());
    const std::vector<PassRun> runs = runs_;
    if (!last_fails) return Found(-1);
    ASSIGN_OR_RETURN(const bool first_fails, Fails(0, kAll));
    if (first_fails) return Found(0);
    int64_t low = 0;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      ASSIGN_OR_RETURN(const bool fails, Fails(middle, kAll));
      (fails ? high : low) = middle;
    }
    result_.pass = runs[static_cast<size_t>(high - 1)].name;
    RETURN_IF_ERROR(FindRewrite(high));
    return Found(high);
  }

 private:
  BisectResult Found(int64_t pass_number) {
    result_.pass_number = pass_number;
    return result_;
  }

  // The first rewrite of pass `number` after which the command fails.
  absl::Status FindRewrite(int64_t number) {
    ASSIGN_OR_RETURN(const bool all, Fails(number, kAll));
    const int64_t count = rewrites_;
    ASSIGN_OR_RETURN(const bool none, Fails(number, 0));
    if (!all || none || count == 0) return absl::OkStatus();
    int64_t low = 0, high = count;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      ASSIGN_OR_RETURN(const bool fails, Fails(number, middle));
      (fails ? high : low) = middle;
    }
    RETURN_IF_ERROR(Fails(number, high).status());
    result_.rewrite = high;
    result_.rule = last_rewrite_;
    return absl::OkStatus();
  }

  // Whether the command fails after the first `passes` passes (-1: all), the last of which may
  // rewrite `rewrites` times.
  absl::StatusOr<bool> Fails(int64_t passes, int64_t rewrites) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, load_());
    Instrumentation in = instrumentation_;
    in.bisect_limit = passes;
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
    ++result_.tests;
    return fails_(*module);
  }

  const Pipeline& pipeline_;
  const Instrumentation& instrumentation_;
  const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load_;
  const std::function<absl::StatusOr<bool>(const Module&)>& fails_;
  BisectResult result_;
  std::vector<PassRun> runs_;
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
