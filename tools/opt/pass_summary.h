// --pass-summary: what each pass changed, in numbers. Hangs on the hooks of the pass manager.
#pragma once

#include <string>
#include <vector>

#include "passes/pass_manager.h"

namespace hlo {

class PassSummary {
 public:
  // Counts around the passes of pipelines that are run with `instrumentation`, which this object
  // must outlive.
  void AddTo(Instrumentation& instrumentation);
  // A new module comes.
  void Start() { rows_.clear(); }

  // Of the last pipeline, whose runs the pass manager says. Passes that were skipped are left out.
  //
  //   pass      changed  instructions  delta  fusions       bytes          ms  opcodes
  //   algsimp   yes                 5     -2       +0     -32.0KiB     0.123  -1 add, -1 broadcast
  //
  // `bytes`: how many more the instructions read and write in one run of the module.
  std::string Table(const std::vector<PassRun>& runs) const;

 private:
  struct Counts {
    std::vector<int64_t> opcodes;  // by opcode
    double bytes = 0;
  };
  struct Row {
    int64_t instructions = 0;
    int64_t delta = 0;
    int64_t fusions = 0;
    double bytes = 0;
    std::string opcodes;  // those that changed most
  };
  static Counts CountsOf(const Module& module);
  static Row RowOf(const Counts& before, const Counts& after);

  Counts before_;  // the pass that is running
  std::vector<Row> rows_;
};

}  // namespace hlo
