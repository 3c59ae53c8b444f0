#include "passes/simplify/dead_dynamic_update_slice_elimination.h"

#include <algorithm>
#include <optional>

namespace hlo {
namespace {

// What `update` writes, by dimension: starts are clamped such that all of it fits.
std::optional<SliceRanges> Written(const Instruction& update) {
  const Shape whole = update.shape(), part = update.operand(1)->shape();
  if (update.operand_count() != 2 + whole.rank() || whole.has_dynamic_dims() ||
      part.has_dynamic_dims())
    return std::nullopt;
  SliceRanges ranges;
  for (int d = 0; d < whole.rank(); ++d) {
    const Instruction& start = *update.operand(2 + d);
    if (!start.IsConstant() || start.literal().is_elided()) return std::nullopt;
    const int64_t value = start.literal().GetInt();
    const int64_t last = whole.dim(d) - part.dim(d);
    // A u64 beyond the range of s64 reads as negative.
    const bool is_huge = value < 0 && !IsSigned(start.shape().element_type());
    const int64_t from = is_huge ? last : std::clamp<int64_t>(value, 0, last);
    ranges.push_back({from, from + part.dim(d)});
  }
  return ranges;
}

bool Meets(const SliceRanges& written, const SliceRanges& read) {
  for (size_t d = 0; d < written.size(); ++d) {
    if (read[d].start >= written[d].limit || written[d].start >= read[d].limit) return false;
  }
  return true;
}

bool IsRead(const Instruction& update, const SliceRanges& written) {
  return update.is_root() || absl::c_any_of(update.uses(), [&](const Use& use) {
           return use.user->opcode() != Opcode::kSlice ||
                  Meets(written, use.user->attrs<SliceAttrs>().slice);
         });
}

}  // namespace

absl::StatusOr<bool> DeadDynamicUpdateSliceElimination::RunOnComputation(Computation& computation,
                                                                         PassContext& context) {
  // A fusion has to read all its parameters.
  if (!computation.MayHold(Opcode::kDynamicUpdateSlice) || computation.is_fusion()) return false;
  bool changed = false;
  std::vector<Instruction*> order = computation.PostOrder();
  absl::c_reverse(order);
  for (Instruction* update : order) {
    if (update->is_dead() || update->opcode() != Opcode::kDynamicUpdateSlice ||
        !update->has_uses() || update->has_control_edges() ||
        update->shape() != update->operand(0)->shape())
      continue;
    const std::optional<SliceRanges> written = Written(*update);
    if (!written || IsRead(*update, *written)) continue;
    if (!context.MayRewrite()) return changed;
    context.Passed(*update, "nothing reads what it writes");
    context.Count("removed");
    update->ReplaceAllUsesWith(update->operand(0));
    computation.RemoveUnused(update);
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(DeadDynamicUpdateSliceElimination)

}  // namespace hlo
