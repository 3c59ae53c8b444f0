#include "tools/reduce/passes_only.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "lib/support/memory_file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/reduce/reducer.h"
#include "tools/support/halve.h"

namespace hlo {
namespace {

constexpr char kRewriteAsked = '?', kRewriteDone = '!';

class Finder {
 public:
  Finder(std::string text, const std::string& name, FailureTest& test)
      : text_(std::move(text)), name_(name), test_(test) {}

  absl::StatusOr<BadPass> Find() {
    const Answer all = test_.Ask(text_);
    if (!all.shows_failure) {
      return Error("{} does not show the failure: expected {}, but {}", name_, test_.Wanted(),
                   all.seen);
    }
    const std::vector<std::string> passes = PassesRun();
    BadPass bad;
    bad.passes = static_cast<int64_t>(passes.size());
    if (bad.passes == 0 || Shows({0, -1}))
      return Error("{} shows the failure before any pass; leave `--passes-only` out", name_);
    bad.number = First(bad.passes, [](int64_t n) { return PassLimits{n, -1}; });
    bad.pass = passes[static_cast<size_t>(bad.number - 1)];
    FindRewrite(bad);
    test_.set_limits({});
    bad.before = Before(bad.number);
    if (bad.before.empty()) {
      return Error("the module before pass {}, `{}`, cannot be made again", bad.number, bad.pass);
    }
    return bad;
  }

 private:
  bool Shows(const PassLimits& limits) {
    test_.set_limits(limits);
    return test_.Ask(text_).shows_failure;
  }

  // The least number in (0, last] whose limits show the failure, as those of `last` do.
  template <class LimitsOf>
  int64_t First(int64_t last, const LimitsOf& limits) {
    return *FirstByHalving(last,
                           [&](int64_t n) -> absl::StatusOr<bool> { return Shows(limits(n)); });
  }

  void FindRewrite(BadPass& bad) {
    const std::string asked = Rewrites({bad.number, -1});
    for (const std::string_view line : Split(asked, '\n'))
      bad.rewrites += !line.empty() && line[0] == kRewriteAsked;
    if (bad.rewrites == 0 || Shows({bad.number, 0})) return;
    bad.rewrite = First(bad.rewrites, [&](int64_t n) { return PassLimits{bad.number, n}; });
    // What was asked for last may have been refused; what was done last was that one.
    const std::string done = Rewrites({bad.number, bad.rewrite});
    for (const std::string_view line : Split(done, '\n'))
      if (!line.empty() && line[0] == kRewriteDone) bad.rule = line.substr(1);
  }

  // Runs the passes in a child, which may crash, with hooks that write to the record.
  std::string Recorded(
      const PassLimits& limits,
      const std::function<void(const MemoryFile&, PassContext&, Instrumentation&)>& hook) {
    const MemoryFile record;
    test_.RunAside([&] {
      absl::StatusOr<std::unique_ptr<Module>> module =
          ParseModule(std::make_shared<const Source>(name_, text_));
      if (!module.ok()) return 1;
      PassContext context;
      LimitRewrites(limits, context);
      Instrumentation instrumentation;
      instrumentation.bisect_limit = limits.passes;
      hook(record, context, instrumentation);
      return RunPipeline(test_.pipeline(), **module, context, instrumentation).ok() ? 0 : 1;
    });
    return record.Start();
  }

  // The passes that were begun, with their options.
  std::vector<std::string> PassesRun() {
    const std::string text =
        Recorded({}, [](const MemoryFile& record, PassContext&, Instrumentation& instrumentation) {
          instrumentation.on_start = [&record](const PipelineItem& pass, int64_t) {
            record.Write(ToText({pass}) + "\n");
          };
        });
    std::vector<std::string> passes;
    for (const std::string_view line : Split(text, '\n'))
      if (!line.empty()) passes.emplace_back(line);
    return passes;
  }

  // A line for each time that the last pass of the limits asked whether it may rewrite, and for
  // each rewrite.
  std::string Rewrites(const PassLimits& limits) {
    return Recorded(limits, [&](const MemoryFile& record, PassContext& context, Instrumentation&) {
      if (limits.rewrites < 0) {
        context.set_may_rewrite([&] {
          if (context.pass_number() == limits.passes)
            record.Write(fmt::format("{}\n", kRewriteAsked));
          return true;
        });
      }
      context.set_rule_trace(
          [&](std::string_view rule, const Instruction& old, const Instruction&) {
            if (context.pass_number() == limits.passes)
              record.Write(fmt::format("{}`{}` on `{}`\n", kRewriteDone, rule, old.name()));
          });
    });
  }

  // The module before a pass, as a text; empty where it cannot be made.
  std::string Before(int64_t number) {
    return Recorded({number, -1}, [number](const MemoryFile& record, PassContext&,
                                           Instrumentation& instrumentation) {
      instrumentation.before_pass = [&record, left = number](const PipelineItem&,
                                                             const Module& module) mutable {
        if (--left > 0) return absl::OkStatus();
        _exit(record.Write(ReducedText(module)) ? 0 : 1);
      };
    });
  }

  std::string text_;
  const std::string& name_;
  FailureTest& test_;
};

}  // namespace

std::string BadPass::Verdict() const {
  std::string text = fmt::format("pass {} of {}, `{}`, shows it first", number, passes, pass);
  if (rewrite > 0) text += fmt::format(", at its rewrite {} of {}", rewrite, rewrites);
  if (!rule.empty()) text += fmt::format(": rule {}", rule);
  return text;
}

absl::StatusOr<BadPass> FindBadPass(const Module& module, const std::string& name,
                                    FailureTest& test) {
  return Finder(ReducedText(module), name, test).Find();
}

}  // namespace hlo
