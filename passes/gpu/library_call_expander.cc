#include "passes/gpu/library_call_expander.h"

#include "passes/gpu/library_calls.h"

namespace hlo {

bool LibraryCallExpander::Matches(const Instruction& instruction) const {
  return FindLibraryCall(instruction) != nullptr;
}

absl::StatusOr<Instruction*> LibraryCallExpander::Expand(Instruction* call, Rewriter& rewriter) {
  return PlainHloOf(*FindLibraryCall(*call), *call, rewriter);
}

HLO_DEFINE_PASS(LibraryCallExpander)

}  // namespace hlo
