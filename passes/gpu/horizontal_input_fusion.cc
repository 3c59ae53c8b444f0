#include "passes/gpu/horizontal_input_fusion.h"

#include "absl/container/flat_hash_set.h"
#include "passes/gpu/shared_kernels.h"

namespace hlo {
namespace {

Shape ReducedBy(const Instruction& kernel) { return HeroOf(kernel).operand(0)->shape(); }

// A reduction, or a fusion that is emitted as one.
bool IsReductionKernel(const Instruction& kernel) {
  return MayHaveMoreOutputs(kernel) && EndsWithReduction(kernel);
}

class InputFuser {
 public:
  InputFuser(Computation& computation, PassContext& context)
      : computation_(computation), context_(context) {}

  bool Run() {
    bool changed = false;
    for (const Instruction* reader : computation_.PostOrder()) {
      if (reader->is_dead()) continue;
      std::vector<Instruction*> reductions = ReductionsFor(*reader);
      if (reductions.size() < 2) continue;
      for (Instruction*& reduction : reductions) {
        if (reduction->IsFusion() || !context_.MayRewrite()) continue;
        reduction = WrapInFusion(reduction, FusionKind::kInput);
        changed = true;
      }
      changed |= FuseNeighbours(reductions);
    }
    return changed;
  }

 private:
  std::vector<Instruction*> ReductionsFor(const Instruction& reader) const {
    std::vector<Instruction*> found;
    absl::flat_hash_set<const Instruction*> seen;
    for (Instruction* operand : reader.operands()) {
      Instruction* const producer = ProducerOf(operand);
      if (IsReductionKernel(*producer) && IsReadOnlyBy(*producer, reader) &&
          IsReadByElements(*producer) && seen.insert(producer).second)
        found.push_back(producer);
    }
    const auto key = [](const Instruction& x) {
      const Shape reduced = ReducedBy(x);
      return std::tuple(reduced.rank(), reduced.dims(), BodySize(x), x.id());
    };
    absl::c_sort(found,
                 [&](const Instruction* a, const Instruction* b) { return key(*a) < key(*b); });
    return found;
  }

  bool FuseNeighbours(const std::vector<Instruction*>& reductions) {
    bool changed = false;
    Instruction* anchor = nullptr;
    for (Instruction* next : reductions) {
      if (!next->IsFusion()) continue;
      Decision fits = anchor == nullptr ? No("it is the first") : HaveSameLoops(*anchor, *next);
      if (fits) fits = FitInOneKernel(*anchor, *next);
      if (!fits || !context_.MayRewrite()) {
        if (anchor != nullptr) context_.Missed(*next, fits.reason());
        anchor = next;
        continue;
      }
      context_.Passed(*next, "fused into `{}`", anchor->name());
      context_.Count("fused");
      TakeIn(anchor, next);
      changed = true;
    }
    return changed;
  }

  Computation& computation_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> HorizontalInputFusion::Run(Module& module, PassContext& context) {
  return ChangesAny(context.ControlFlowComputations(module), [&](Computation& computation) {
    return InputFuser(computation, context).Run();
  });
}

HLO_DEFINE_PASS(HorizontalInputFusion)

}  // namespace hlo
