#include "tools/support/equivalence_check.h"

#include <fmt/format.h>

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "passes/registry.h"
#include "tools/support/other_numbers.h"

namespace hlo {

void EquivalenceCheck::AddTo(Instrumentation& instrumentation) {
  instrumentation.before_pass = [this](const PipelineItem&, const Module& module) {
    ++passes_;
    if (why_not_.empty()) before_ = module.Clone();
    return absl::OkStatus();
  };
  instrumentation.after_pass = [this](const PipelineItem& pass, const Module& module,
                                      bool changed) { return AfterPass(pass, module, changed); };
}

void EquivalenceCheck::Start() {
  passes_ = compared_ = 0;
  drawn_by_.clear();
  runs_.reset();
  why_not_.clear();
}

absl::Status EquivalenceCheck::AfterPass(const PipelineItem& pass, const Module& module,
                                         bool changed) {
  if (!changed || !why_not_.empty()) return absl::OkStatus();
  // What follows is compared with the module that has the other numbers.
  if (DrawsOtherNumbers(pass, *before_)) {
    drawn_by_ = pass.name;
    runs_.reset();
    return absl::OkStatus();
  }
  if (!runs_) Run(*before_);
  return runs_ ? Compare(pass, module) : absl::OkStatus();
}

void EquivalenceCheck::Run(const Module& module) {
  absl::StatusOr<ReferenceRuns> runs = ReferenceRuns::Make(module, options_);
  if (runs.ok()) {
    runs_ = *std::move(runs);
    return;
  }
  why_not_ =
      fmt::format("the module cannot be run: {}", DiagnosticsOf(runs.status()).front().message);
  if (absl::IsResourceExhausted(runs.status())) why_not_ += "; --max-loop-iterations=N allows more";
}

absl::Status EquivalenceCheck::Compare(const PipelineItem& pass, const Module& module) {
  ASSIGN_OR_RETURN(const PassInfo* info, GetPass(pass.name));
  const RuleSafety safety = info->safety();
  const absl::StatusOr<std::string> difference = runs_->CompareAndMoveOn(module, safety);
  if (!difference.ok()) {
    why_not_ = fmt::format("after pass {} `{}` the module cannot be run: {}", passes_, pass.name,
                           DiagnosticsOf(difference.status()).front().message);
    runs_.reset();
    return absl::OkStatus();
  }
  ++compared_;
  if (difference->empty()) return absl::OkStatus();
  const absl::Status status = MakeError(
      absl::StatusCode::kDataLoss, SourceLoc(),
      fmt::format("pass {} `{}` changed what the module computes: {}{}", passes_, pass.name,
                  *difference, safety == kExact ? "; the pass is to keep every bit" : ""));
  const std::optional<BadRewrite> rewrite = FindBadRewrite(pass, *before_, *runs_, safety);
  if (!rewrite) return status;
  return AddNote(
      status, SourceLoc(),
      fmt::format("the first of its rewrites to do so is number {} of {}{}", rewrite->number,
                  rewrite->total,
                  rewrite->rule.empty() ? "" : fmt::format(", rule `{}`", rewrite->rule)));
}

std::string EquivalenceCheck::Report() const {
  std::string out = fmt::format("{} of {} passes changed the module; results agree for {} input{}",
                                compared_, passes_, options_.seeds, options_.seeds == 1 ? "" : "s");
  if (compared_ == 0) {
    out = fmt::format("none of {} passes {}", passes_,
                      why_not_.empty() ? "changed the module" : "was compared");
  }
  if (const auto [nans, all] = runs_ ? runs_->CountNans() : std::pair<int64_t, int64_t>(); nans > 0)
    out += fmt::format(" ({} of {} values are NaN)", nans, all);
  if (!drawn_by_.empty())
    out += fmt::format("; not compared: `{}`, whose random numbers are others", drawn_by_);
  if (!why_not_.empty()) out += "; not checked: " + why_not_;
  return out;
}

}  // namespace hlo
