// `hlo-run --time-passes`: where the time of a compilation goes, passes and code generation in one
// table.
#pragma once

#include <string>

#include "backends/backend.h"
#include "passes/pass_manager.h"

namespace hlo {

class PassTimes final {
 public:
  // From now on notes each pass that runs with this; it must not outlive the object.
  void Attach(Instrumentation& instrumentation);

  // The passes by time, then the steps of code generation. Wall time; a step that ran on several
  // threads has its share of theirs.
  std::string Table(const CompileStats& stats) const;

 private:
  PipelineResult result_;
  double started_ = 0;
};

}  // namespace hlo
