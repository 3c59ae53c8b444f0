#include "passes/gpu/fusion_merger.h"

#include <algorithm>

#include "lib/analysis/cost.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_questions.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/gpu/shared_kernels.h"

namespace hlo {
namespace {

// What is saved for it, expensive operations may be computed several times.
constexpr double kLowBytesRatio = 0.3;
constexpr double kFewSavedBytes = 1024;

// Of a kernel that takes in others: where values are read twice, each step may double it.
constexpr int64_t kMostInstructions = 500;

bool IsKind(const Instruction& x, FusionKind kind) {
  return x.IsFusion() && x.attrs<FusionAttrs>().kind == kind;
}

bool IsLoopReader(const Instruction& x) {
  return IsKind(x, FusionKind::kLoop) && x.shape().IsArray() && !x.has_control_edges();
}

// Bytes that are moved for a loop and its readers, without what else they read.
struct Bytes {
  double apart = 0;
  double merged = 0;
  double ratio() const { return merged / std::max(1.0, apart); }
};

Bytes BytesFor(const Instruction& loop) {
  double read = 0;
  for (int i = 0; i < loop.operand_count(); ++i) read += BytesRead(loop, i);
  const auto readers = static_cast<double>(loop.users().size());
  return {read + BytesWritten(loop) * (readers + 1), read * readers};
}

bool ReadsElementsTwice(const Instruction& reader, const Instruction& loop) {
  for (int i = 0; i < reader.operand_count(); ++i) {
    if (reader.operand(i) == &loop && ReusesElements(reader, i)) return true;
  }
  return false;
}

Decision MayTakeIn(const Instruction& reader, const Instruction& loop) {
  const bool reduces = IsKind(reader, FusionKind::kInput) && EndsWithReduction(reader);
  if (!IsKind(reader, FusionKind::kLoop) && !reduces)
    return No("`{}` is no fusion that is a loop or reduces", reader.name());
  if (reader.has_control_edges()) return No("`{}` has control edges", reader.name());
  if (!reader.attrs<FusionAttrs>().output_to_operand_aliasing.empty())
    return No("`{}` writes over its operands", reader.name());
  if (reduces) {
    if (Decision suits = SuitsReduction(loop, reader); !suits) return suits;
  }
  if (Decision fits = FitInOneKernel(reader, loop, /*a_reads_b=*/true); !fits) return fits;
  if (BodySize(reader) + BodySize(loop) > kMostInstructions)
    return No("`{}` would be of {} instructions", reader.name(), BodySize(reader) + BodySize(loop));
  if (IndexEvaluation(reader).IsTooOften(loop))
    return No("`{}` would compute its elements too often", reader.name());
  return Yes();
}

Decision MayRepeatExpensive(const Instruction& loop, const Bytes& bytes) {
  const std::vector<Instruction*> body = loop.fused_computation()->instruction_vector();
  const auto expensive =
      absl::c_find_if(body, [](const Instruction* i) { return IsExpensiveOnGpu(*i); });
  if (expensive == body.end()) return Yes();
  const bool saves = bytes.apart > kFewSavedBytes && bytes.ratio() < kLowBytesRatio;
  if (loop.users().size() > 1 && !saves) return No("`{}` is expensive", (*expensive)->name());
  for (const Instruction* reader : loop.users()) {
    if (ReadsElementsTwice(*reader, loop))
      return No("`{}` is expensive, and `{}` reads elements several times", (*expensive)->name(),
                reader->name());
  }
  return Yes();
}

Decision IsWorthIt(const Instruction& loop, double max_ratio) {
  if (loop.is_root()) return No("it is the computation's result");
  if (UpdatesInPlace(loop)) return No("it updates an array in place");
  for (const Instruction* reader : loop.users()) {
    if (Decision may = MayTakeIn(*reader, loop); !may) return may;
  }
  const Bytes bytes = BytesFor(loop);
  if (Decision may = MayRepeatExpensive(loop, bytes); !may) return may;
  if (bytes.ratio() > max_ratio)
    return No("{} bytes would be moved instead of {}", bytes.merged, bytes.apart);
  return Yes();
}

void MergeIntoReaders(Instruction* loop) {
  for (Instruction* reader : loop->users()) Absorb(loop, reader);
  Computation* const body = loop->fused_computation();
  loop->parent()->Remove(loop);
  if (body->callers().empty()) body->module().RemoveComputation(body);
}

}  // namespace

absl::StatusOr<bool> FusionMerger::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.ControlFlowComputations(module)) {
    for (Instruction* loop : computation->PostOrder()) {
      if (!IsLoopReader(*loop) || !loop->has_uses()) continue;
      if (!context.Allowed(*loop, IsWorthIt(*loop, options_.max_bytes_ratio))) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*loop, "merged into its {} readers", loop->users().size());
      context.Count("merged");
      MergeIntoReaders(loop);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(FusionMerger)

}  // namespace hlo
