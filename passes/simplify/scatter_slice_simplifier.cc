#include "passes/simplify/scatter_slice_simplifier.h"

#include <algorithm>
#include <optional>

#include "passes/rewrite.h"

namespace hlo {
namespace {

bool CutsEnds(const Instruction& user) {
  if (user.opcode() != Opcode::kSlice) return false;
  const SliceRanges& ranges = user.attrs<SliceAttrs>().slice;
  return std::all_of(ranges.begin(), ranges.end(),
                     [](const SliceRange& r) { return r.start == 0 && r.stride == 1; });
}

// How much of `scatter` its users read; none if not less than there is.
std::optional<std::vector<int64_t>> SizesRead(const Instruction& scatter) {
  std::vector<int64_t> sizes(static_cast<size_t>(scatter.shape().rank()), 0);
  for (const Use& use : scatter.uses()) {
    if (!CutsEnds(*use.user)) return std::nullopt;
    for (size_t d = 0; d < sizes.size(); ++d)
      sizes[d] = std::max(sizes[d], use.user->shape().dim(static_cast<int>(d)));
  }
  // Only along dimensions over which an update has one element: it is inside or it is not.
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  bool is_less = false;
  for (int d = 0; d < scatter.shape().rank(); ++d) {
    if (sizes[static_cast<size_t>(d)] == scatter.shape().dim(d)) continue;
    const DimVec& indexed = attrs.scatter_dims_to_operand_dims;
    const DimVec& inserted = attrs.inserted_window_dims;
    if (std::find(inserted.begin(), inserted.end(), d) == inserted.end() ||
        std::find(indexed.begin(), indexed.end(), d) == indexed.end())
      return std::nullopt;
    is_less = true;
  }
  if (!is_less) return std::nullopt;
  return sizes;
}

}  // namespace

absl::StatusOr<bool> ScatterSliceSimplifier::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kScatter})) {
    for (Instruction* scatter : computation->PostOrder()) {
      if (scatter->opcode() != Opcode::kScatter || !scatter->shape().IsArray() ||
          scatter->is_root() || !scatter->has_uses() || scatter->has_control_edges() ||
          scatter->shape().has_dynamic_dims() || scatter->operand_count() != 3)
        continue;
      const auto sizes = SizesRead(*scatter);
      if (!sizes) {
        context.Missed(*scatter, "not only slices that cut off ends of indexed dimensions read it");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*scatter, "scatters into what is read");
      const uint32_t first_new = module.id_limit();
      Rewriter b(computation, context);
      b.set_origin(scatter);
      const std::vector<int64_t> starts(sizes->size(), 0);
      Instruction* smaller = b.OpWithShape(
          Opcode::kScatter, Shape::Array(scatter->shape().element_type(), *sizes),
          {b.Slice(scatter->operand(0), starts, *sizes), scatter->operand(1), scatter->operand(2)},
          scatter->attrs_ptr(), {scatter->to_apply()});
      RETURN_IF_ERROR(b.status());
      for (Instruction* slice : scatter->users()) {
        if (SameDimensions(slice->shape(), smaller->shape())) {
          ReplaceKeepingExtras(slice, smaller, first_new);
        } else {
          slice->ReplaceOperand(0, smaller);
        }
      }
      computation->RemoveUnused(scatter);
      context.Count("simplified");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ScatterSliceSimplifier)

}  // namespace hlo
