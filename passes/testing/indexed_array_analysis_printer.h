// Says which arrays are others with one dimension looked up (lib/analysis/indexed_array.h), as
// remarks.
//
//   remark: `g`: (scalar-indexed %x %i 0->[0])
//
// Changes nothing; `--print-analysis=indexed-array` prints the same.
#pragma once

#include "passes/pass.h"

namespace hlo {

class IndexedArrayAnalysisPrinter final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
