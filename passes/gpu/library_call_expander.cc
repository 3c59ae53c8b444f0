#include "passes/gpu/library_call_expander.h"

#include <algorithm>

#include "lib/support/status.h"
#include "passes/expander.h"
#include "passes/fusion/unfuse.h"
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

bool IsOfLibrary(const Instruction& call) {
  return FindLibraryCall(call) != nullptr || WhyNoMeaning(call) != nullptr;
}

class CallExpander final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = LibraryCallExpander::kSafety;
  explicit CallExpander(LibraryCallExpander::Options options) : options_(options) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }

  bool Matches(const Instruction& call) const override {
    if (options_.keep_ptx && IsPtxCall(call)) return !SeesRowMajor(call);
    return IsOfLibrary(call);
  }

  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override {
    if (options_.keep_ptx && IsPtxCall(*call)) {
      return Unsupported(call->loc(), "`{}` is a kernel in PTX whose arrays are not all row-major",
                         call->name());
    }
    if (WhyNoMeaning(*call) != nullptr) return RefuseCall(*call);
    return PlainHloOf(*FindLibraryCall(*call), *call, rewriter);
  }

 private:
  LibraryCallExpander::Options options_;
};

bool HoldsCall(const Instruction& fusion) {
  for (const Instruction* inner : fusion.fused_computation()->instructions()) {
    if (inner->opcode() == Opcode::kCustomCall && IsOfLibrary(*inner)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> LibraryCallExpander::Run(Module& module, PassContext& context) {
  const bool unfused = UnfuseOthers(module, context, [](const Instruction& fusion) {
    return HoldsCall(fusion) ? No("taken apart for the call of a library in it") : Yes();
  });
  ASSIGN_OR_RETURN(const bool expanded, RunPart(CallExpander(options_), module, context));
  return unfused || expanded;
}

HLO_DEFINE_PASS(LibraryCallExpander)

}  // namespace hlo
