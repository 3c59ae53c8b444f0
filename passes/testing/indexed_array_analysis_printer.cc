#include "passes/testing/indexed_array_analysis_printer.h"

#include "lib/analysis/indexed_array.h"

namespace hlo {

absl::StatusOr<bool> IndexedArrayAnalysisPrinter::Run(Module& module, PassContext& context) {
  IndexedArrays arrays;
  for (const Computation* computation : context.NonFusionComputations(module)) {
    for (const Instruction* instruction : computation->PostOrder()) {
      const IndexedArray::Ptr array = arrays.Of(*instruction);
      if (array->kind == IndexedArray::Kind::kUnknown || array->IsConstant()) continue;
      context.Found(*instruction, "{}", array->ToString());
      context.Count("found");
    }
  }
  return false;
}

HLO_DEFINE_PASS(IndexedArrayAnalysisPrinter)

}  // namespace hlo
