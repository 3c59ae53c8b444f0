// --check-equivalence: after every pass that changed a module, the module must still compute what
// it computed. Hangs on the hooks of the pass manager.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "passes/pass_manager.h"
#include "tools/support/equivalence.h"

namespace hlo {

class EquivalenceCheck {
 public:
  explicit EquivalenceCheck(EquivalenceOptions options) : options_(options) {}

  // Checks the passes of pipelines that are run with `instrumentation`, which this object must
  // outlive. A pass that changes results fails with a message that says which output and which
  // rewrite.
  void AddTo(Instrumentation& instrumentation);
  // A new module comes. It is run when a pass changes it; one that cannot be run is not checked.
  void Start();

  // What was checked of the last module, and what could not be and why; a line.
  std::string Report() const;
  // Whether there was something that could not be checked.
  bool is_incomplete() const { return !why_not_.empty(); }

 private:
  absl::Status AfterPass(const PipelineItem& pass, const Module& module, bool changed);

  // Sets `runs_`, or `why_not_`.
  void Run(const Module& module);
  absl::Status Compare(const PipelineItem& pass, const Module& module);

  EquivalenceOptions options_;
  std::optional<ReferenceRuns> runs_;
  std::unique_ptr<Module> before_;  // the pass that is running
  int64_t passes_ = 0;
  int64_t compared_ = 0;
  std::string drawn_by_;  // a pass that makes other random numbers; "": none
  std::string why_not_;
};

}  // namespace hlo
