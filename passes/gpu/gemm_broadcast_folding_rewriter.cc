#include "passes/gpu/gemm_broadcast_folding_rewriter.h"

#include <algorithm>

#include "lib/support/decision.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

// Also where the call yields what the library works in.
bool IsBatchedCall(const Instruction& x) {
  if (x.opcode() != Opcode::kCustomCall || x.operand_count() < 2) return false;
  const std::string_view target = x.attrs<CustomCallAttrs>().custom_call_target;
  return target == kGemm || target == kLtMatmul;
}

bool IsRepeated(const Instruction& x) { return x.opcode() == Opcode::kBroadcast; }

// Whether `broadcast` makes the batch dimensions, and only these.
Decision MakesBatches(const Instruction& broadcast, const DimVec& batch, const DimVec& contracting,
                      size_t batch_dims_of_other_side) {
  const DimVec& kept = broadcast.attrs<BroadcastAttrs>().dimensions;
  const size_t made = static_cast<size_t>(broadcast.shape().rank()) - kept.size();
  if (batch.empty() || batch.size() != batch_dims_of_other_side)
    return No("`{}` is no matrix of each batch", broadcast.name());
  if (contracting.size() != 1) return No("several dimensions are contracted");
  if (made != batch.size())
    return No("`{}` makes {} dimensions where {} are batches", broadcast.name(), made,
              batch.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != static_cast<int64_t>(made + i))
      return No("`{}` makes other dimensions than the first", broadcast.name());
    if (absl::c_linear_search(batch, kept[i]))
      return No("dimension {} of `{}` differs from batch to batch", kept[i], broadcast.name());
  }
  return Yes();
}

}  // namespace

absl::StatusOr<bool> GemmBroadcastFoldingRewriter::RunOnComputation(Computation& computation,
                                                                    PassContext& context) {
  bool changed = false;
  for (Instruction* gemm : computation.PostOrder()) {
    if (!IsBatchedCall(*gemm) || absl::c_none_of(std::vector{0, 1}, [&](int side) {
          return IsRepeated(*gemm->operand(side));
        }))
      continue;
    ASSIGN_OR_RETURN(LibraryConfig<GemmConfig> config, ReadConfig<GemmConfig>(*gemm));
    JsonDotDims& dims = config.config.dot_dimension_numbers;
    for (const int side : {0, 1}) {
      Instruction* const broadcast = gemm->operand(side);
      if (!IsRepeated(*broadcast)) continue;
      DimVec& batch = side == 0 ? dims.lhs_batch_dimensions : dims.rhs_batch_dimensions;
      DimVec& contracting =
          side == 0 ? dims.lhs_contracting_dimensions : dims.rhs_contracting_dimensions;
      const size_t others =
          (side == 0 ? dims.rhs_batch_dimensions : dims.lhs_batch_dimensions).size();
      if (!context.Allowed(*gemm, MakesBatches(*broadcast, batch, contracting, others))) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*gemm, "reads `{}` for all batches", broadcast->operand(0)->name());
      context.Count("folded");
      contracting[0] -= static_cast<int64_t>(batch.size());
      batch.clear();
      gemm->ReplaceOperand(side, broadcast->operand(0));
      gemm->mutable_extras().backend_config = ToJson(config);
      if (!broadcast->is_used() && !broadcast->has_control_edges())
        computation.RemoveUnused(broadcast);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(GemmBroadcastFoldingRewriter)

}  // namespace hlo
