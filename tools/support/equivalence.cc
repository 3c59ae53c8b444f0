#include "tools/support/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/eval/device_group.h"
#include "lib/eval/evaluator.h"
#include "lib/support/thread_pool.h"
#include "passes/gpu/library_calls.h"
#include "passes/registry.h"
#include "passes/spmd/device_parts.h"
#include "tools/support/compare_values.h"
#include "tools/support/rounded_types.h"
#include "tools/support/runnable.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr int64_t kMaxDevices = 64;

std::string ElementText(const Literal& array, int64_t linear) {
  std::string out;
  AppendScalar(array, linear, /*in_array=*/false, out);
  return out;
}

bool SameSpecial(double a, double b, RuleSafety safety) {
  if (std::isnan(a) && std::isnan(b)) return true;  // whatever the payload
  if (safety == kExact) return false;
  return !std::isfinite(a) || !std::isfinite(b) || (a == 0 && b == 0);
}

// Elements with different bits that are as good as equal.
bool MayDiffer(const Literal& actual, const Literal& expected, int64_t linear, RuleSafety safety) {
  const ElementType type = actual.element_type();
  if (IsComplex(type)) {
    const std::complex<double> a = actual.GetComplex(linear), b = expected.GetComplex(linear);
    return (a.real() == b.real() || SameSpecial(a.real(), b.real(), safety)) &&
           (a.imag() == b.imag() || SameSpecial(a.imag(), b.imag(), safety));
  }
  return IsFloat(type) && SameSpecial(actual.GetDouble(linear), expected.GetDouble(linear), safety);
}

// "" or what differs between two arrays of the same shape that must agree bit by bit.
std::string ExactDifference(const Literal& actual, const Literal& expected, RuleSafety safety) {
  if (actual == expected) return "";
  const auto width = static_cast<size_t>(ByteSize(actual.element_type()));
  int64_t different = 0, first = 0;
  for (int64_t i = 0; i < actual.element_count(); ++i) {
    const size_t at = static_cast<size_t>(i) * width;
    if (std::memcmp(actual.data() + at, expected.data() + at, width) == 0) continue;
    if (MayDiffer(actual, expected, i, safety)) continue;
    if (different++ == 0) first = i;
  }
  if (different == 0) return "";
  const DimVec index = MultiIndex(first, actual.shape().dims());
  return fmt::format("[{}] is {}, was {} ({} of {} elements differ)", fmt::join(index, ","),
                     ElementText(actual, first), ElementText(expected, first), different,
                     actual.element_count());
}

std::string ToleranceDifference(const Literal& actual, const Literal& expected,
                                const Tolerance& tolerance) {
  const CompareReport report = hlo::Compare(actual, expected, tolerance);
  if (report.ok()) return "";
  if (!report.shape_error.empty()) return report.shape_error;
  return fmt::format("[{}] is {}, was {} ({} of {} elements differ)",
                     fmt::join(report.first.index, ","), report.first.actual, report.first.expected,
                     report.mismatched, report.compared);
}

bool IsFinite(const Literal& array, int64_t linear) {
  if (!IsComplex(array.element_type())) return std::isfinite(array.GetDouble(linear));
  const std::complex<double> value = array.GetComplex(linear);
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

// `actual`, but where `expected` is NaN or infinite, which no number needs to be.
Literal WithSpecialsOf(const Literal& expected, Literal actual) {
  const ElementType type = expected.element_type();
  if (!IsFloat(type) && !IsComplex(type)) return actual;
  const auto width = static_cast<size_t>(ByteSize(type));
  uint8_t* const data = actual.mutable_data();
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    if (IsFinite(expected, i)) continue;
    const size_t at = static_cast<size_t>(i) * width;
    std::memcpy(data + at, expected.data() + at, width);
  }
  return actual;
}

// `types`: as RoundedTypes says.
std::string OutputDifference(const Literal& actual, const Literal& expected, RuleSafety safety,
                             const std::optional<Tolerance>& tolerance,
                             const std::vector<ElementType>& types) {
  const std::vector<Literal> now = ArrayLeaves(actual);
  const std::vector<Literal> before = ArrayLeaves(expected);
  if (now.size() != before.size())
    return fmt::format("{} outputs, there were {}", now.size(), before.size());
  for (size_t i = 0; i < now.size(); ++i) {
    std::string difference;
    if (!Compatible(now[i].shape(), before[i].shape())) {
      difference = fmt::format("the shape was `{}`", before[i].shape());
    } else if (tolerance) {
      difference = ToleranceDifference(now[i], before[i], *tolerance);
    } else if (safety == kReassociate) {
      const Tolerance by_type =
          DefaultTolerance(i < types.size() ? types[i] : now[i].element_type());
      difference = ToleranceDifference(now[i], before[i], by_type);
      if (!difference.empty()) {
        difference = ToleranceDifference(WithSpecialsOf(before[i], now[i]), before[i], by_type);
      }
    } else {
      difference = ExactDifference(now[i], before[i], safety);
    }
    if (!difference.empty()) return fmt::format("output {} {}: {}", i, now[i].shape(), difference);
  }
  return "";
}

absl::Status CheckTakes(const Module& module, const std::vector<Literal>& arguments) {
  if (IsPartitioned(module)) return absl::OkStatus();  // it takes parts of them
  const Computation& entry = *module.entry();
  bool same = entry.parameter_count() == static_cast<int>(arguments.size());
  for (int i = 0; same && i < entry.parameter_count(); ++i) {
    same = CompatibleIgnoringDynamic(arguments[static_cast<size_t>(i)].shape(),
                                     entry.parameter(i)->shape());
  }
  if (same) return absl::OkStatus();
  return Error("the parameters of `{}` are not those it had", entry.name());
}

// Calls `work` for the number of every seed, on several threads; the error of the first that fails.
template <class F>
absl::Status ForEachSeed(const EquivalenceOptions& options, F&& work) {
  const auto seeds = static_cast<size_t>(options.seeds);
  std::vector<absl::Status> statuses(seeds);
  if (seeds == 1 || options.threads == 1) {
    for (size_t i = 0; i < seeds; ++i) RETURN_IF_ERROR(work(i));
    return absl::OkStatus();
  }
  ThreadPool pool(options.threads);
  pool.ParallelForDynamic(options.seeds, [&](int64_t i, int) {
    statuses[static_cast<size_t>(i)] = work(static_cast<size_t>(i));
  });
  for (absl::Status& status : statuses) RETURN_IF_ERROR(std::move(status));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Literal>> RunOnInterpreter(const Module& module, uint64_t seed,
                                                      const std::vector<Literal>& arguments,
                                                      const EquivalenceOptions& limits) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> plain, WithoutLibraryCalls(module));
  if (plain != nullptr) return RunOnInterpreter(*plain, seed, arguments, limits);
  EvalOptions options;
  options.seed = seed;
  options.max_work = limits.max_work;
  options.max_loop_iterations = limits.max_loop_iterations;
  const int64_t devices = module.config().replica_count * module.config().num_partitions;
  if (devices == 1) {
    ASSIGN_OR_RETURN(Literal result, Evaluator(options).Run(module, arguments));
    return std::vector<Literal>{std::move(result)};
  }
  if (devices < 1 || devices > kMaxDevices) {
    return Unsupported(SourceLoc(), "the interpreter simulates at most {} devices, not {}",
                       kMaxDevices, devices);
  }
  if (IsPartitioned(module)) {
    ASSIGN_OR_RETURN(const auto parts, CutArguments(module, arguments));
    std::vector<std::vector<Literal>> by_device;
    for (int64_t replica = 0; replica < module.config().replica_count; ++replica)
      by_device.insert(by_device.end(), parts.begin(), parts.end());
    return EvaluateOnDevices(module, by_device, options);
  }
  // Every device gets the same arguments.
  const std::vector<std::vector<Literal>> by_device(static_cast<size_t>(devices), arguments);
  return EvaluateOnDevices(module, by_device, options);
}

absl::Status JoinIfPartitioned(const Module& module, const std::vector<Literal>& before,
                               std::vector<Literal>& results) {
  if (!IsPartitioned(module) || before.empty() || results.size() != before.size())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Literal> joined,
                   JoinResults(module, results, before.front().shape()));
  const size_t partitions = results.size() / joined.size();
  for (size_t device = 0; device < results.size(); ++device)
    results[device] = joined[device / partitions];
  return absl::OkStatus();
}

absl::StatusOr<ReferenceRuns> ReferenceRuns::Make(const Module& module,
                                                  const EquivalenceOptions& options) {
  RETURN_IF_ERROR(VerifyRunnable(module));
  ReferenceRuns result;
  result.options_ = options;
  result.types_ = RoundedTypes(module);
  result.runs_.resize(static_cast<size_t>(options.seeds));
  const auto run_seed = [&](size_t i) -> absl::Status {
    SeedRun& run = result.runs_[i];
    run.seed = options.first_seed + static_cast<uint64_t>(i);
    run.arguments = RandomArguments(module, run.seed);
    ASSIGN_OR_RETURN(run.results, RunOnInterpreter(module, run.seed, run.arguments, options));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachSeed(options, run_seed));
  return result;
}

absl::StatusOr<std::string> ReferenceRuns::CompareRuns(const Module& module, RuleSafety safety,
                                                       std::vector<SeedRun>& now) const {
  RETURN_IF_ERROR(VerifyRunnable(module));
  std::vector<std::vector<Literal>> all(runs_.size());
  const auto run_seed = [&](size_t i) -> absl::Status {
    const SeedRun& run = runs_[i];
    RETURN_IF_ERROR(CheckTakes(module, run.arguments));
    ASSIGN_OR_RETURN(all[i], RunOnInterpreter(module, run.seed, run.arguments, options_));
    RETURN_IF_ERROR(JoinIfPartitioned(module, run.results, all[i]));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachSeed(options_, run_seed));
  for (size_t i = 0; i < runs_.size(); ++i) {
    const SeedRun& run = runs_[i];
    std::vector<Literal>& results = all[i];
    if (results.size() != run.results.size())
      return fmt::format("runs on {} devices, not on {}", results.size(), run.results.size());
    for (size_t device = 0; device < results.size(); ++device) {
      const std::string difference = OutputDifference(results[device], run.results[device], safety,
                                                      options_.tolerance, types_);
      if (difference.empty()) continue;
      const std::string where =
          results.size() > 1 ? fmt::format(", device {}", device) : std::string();
      return fmt::format("seed {}{}, {}", run.seed, where, difference);
    }
    now.push_back({run.seed, run.arguments, std::move(results)});
  }
  return std::string();
}

absl::StatusOr<std::string> ReferenceRuns::Compare(const Module& module, RuleSafety safety) const {
  std::vector<SeedRun> now;
  return CompareRuns(module, safety, now);
}

absl::StatusOr<std::string> ReferenceRuns::CompareAndMoveOn(const Module& module,
                                                            RuleSafety safety) {
  std::vector<SeedRun> now;
  ASSIGN_OR_RETURN(std::string difference, CompareRuns(module, safety, now));
  if (difference.empty()) runs_ = std::move(now);
  return difference;
}

std::pair<int64_t, int64_t> ReferenceRuns::CountNans() const {
  int64_t nans = 0, all = 0;
  for (const SeedRun& run : runs_) {
    for (const Literal& result : run.results) {
      for (const Literal& array : ArrayLeaves(result)) {
        all += array.element_count();
        if (!IsFloat(array.element_type())) continue;
        for (int64_t i = 0; i < array.element_count(); ++i)
          nans += std::isnan(array.GetDouble(i)) ? 1 : 0;
      }
    }
  }
  return {nans, all};
}

RuleSafety SafetyOf(const Pipeline& pipeline) {
  RuleSafety safety = kExact;
  for (const PipelineItem& item : pipeline) {
    const PassInfo* info = FindPass(item.name);
    safety = std::max(safety, item.is_fix()     ? SafetyOf(item.children)
                              : info == nullptr ? kExact
                                                : info->safety());
  }
  return safety;
}

// ---- the rewrite to blame ----

namespace {

// The pass run with at most `limit` rewrites.
struct LimitedRun {
  bool differs = false;
  int64_t asked = 0;
  std::map<std::pair<std::string, std::string>, int64_t> counts;
};

absl::StatusOr<LimitedRun> RunLimited(const PipelineItem& item, const Module& before,
                                      const ReferenceRuns& runs, RuleSafety safety, int64_t limit) {
  ASSIGN_OR_RETURN(const PassInfo* info, GetPass(item.name));
  ASSIGN_OR_RETURN(const std::unique_ptr<Pass> pass, info->make(item.options, info->name));
  const std::unique_ptr<Module> module = before.Clone();
  LimitedRun run;
  PassContext context;
  context.set_pass(item.name);
  context.set_may_rewrite([&] { return run.asked++ < limit; });
  RETURN_IF_ERROR(pass->Run(*module, context).status());
  module->Sweep();
  ASSIGN_OR_RETURN(const std::string difference, runs.Compare(*module, safety));
  run.differs = !difference.empty();
  run.counts = context.counts();
  return run;
}

// What the longer run counted more of.
std::string RuleOf(const LimitedRun& without, const LimitedRun& with) {
  for (const auto& [key, count] : with.counts) {
    const auto it = without.counts.find(key);
    if (count > (it == without.counts.end() ? 0 : it->second)) return key.second;
  }
  return "";
}

}  // namespace

std::optional<BadRewrite> FindBadRewrite(const PipelineItem& pass, const Module& before,
                                         const ReferenceRuns& runs, RuleSafety safety) {
  absl::StatusOr<LimitedRun> all = RunLimited(pass, before, runs, safety, INT64_MAX);
  if (!all.ok() || !all->differs || all->asked == 0) return std::nullopt;
  absl::StatusOr<LimitedRun> none = RunLimited(pass, before, runs, safety, 0);
  if (!none.ok() || none->differs) return std::nullopt;
  // Invariant: with `low` rewrites results agree, with `high` they do not.
  int64_t low = 0, high = all->asked;
  LimitedRun agrees = *none, differs = *all;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    absl::StatusOr<LimitedRun> run = RunLimited(pass, before, runs, safety, middle);
    if (!run.ok()) return std::nullopt;
    (run->differs ? high : low) = middle;
    (run->differs ? differs : agrees) = *run;
  }
  return BadRewrite{high, all->asked, RuleOf(agrees, differs)};
}

}  // namespace hlo
