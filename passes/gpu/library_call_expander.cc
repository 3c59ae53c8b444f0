#include "passes/gpu/library_call_expander.h"

#include <algorithm>

#include "lib/support/status.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/ptx_call.h"

namespace hlo {
namespace {

bool HasDefaultLayout(Shape shape) { return shape == shape.WithDefaultLayout(); }

// A kernel reads memory: what passes do to layouts later would change what it sees.
bool SeesRowMajor(const Instruction& call) {
  return HasDefaultLayout(call.shape()) &&
         absl::c_all_of(call.operands(), [](const Instruction* operand) {
           return HasDefaultLayout(operand->shape());
         });
}

}  // namespace

bool LibraryCallExpander::Matches(const Instruction& instruction) const {
  if (options_.keep_ptx && IsPtxCall(instruction)) return !SeesRowMajor(instruction);
  return FindLibraryCall(instruction) != nullptr || WhyNoMeaning(instruction) != nullptr;
}

absl::StatusOr<Instruction*> LibraryCallExpander::Expand(Instruction* call, Rewriter& rewriter) {
  if (options_.keep_ptx && IsPtxCall(*call)) {
    return Unsupported(call->loc(), "`{}` is a kernel in PTX whose arrays are not all row-major",
                       call->name());
  }
  if (WhyNoMeaning(*call) != nullptr) return RefuseCall(*call);
  return PlainHloOf(*FindLibraryCall(*call), *call, rewriter);
}

HLO_DEFINE_PASS(LibraryCallExpander)

}  // namespace hlo
