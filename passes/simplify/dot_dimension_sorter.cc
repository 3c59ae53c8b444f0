#include "passes/simplify/dot_dimension_sorter.h"

#include <algorithm>
#include <numeric>

namespace hlo {
namespace {

DimVec Reordered(const DimVec& dims, const std::vector<size_t>& order) {
  DimVec result;
  for (const size_t i : order) result.push_back(dims[i]);
  return result;
}

}  // namespace

absl::StatusOr<bool> DotDimensionSorter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kDot})) {
    for (Instruction* dot : computation->PostOrder()) {
      if (dot->opcode() != Opcode::kDot || dot->operand_count() != 2) continue;
      DotAttrs attrs = dot->attrs<DotAttrs>();
      DimVec &lhs = attrs.lhs_contracting_dims, &rhs = attrs.rhs_contracting_dims;
      if (std::is_sorted(lhs.begin(), lhs.end())) continue;
      std::vector<size_t> order(lhs.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lhs[a] < lhs[b]; });
      lhs = Reordered(lhs, order);
      rhs = Reordered(rhs, order);
      if (!std::is_sorted(rhs.begin(), rhs.end())) {
        context.Missed(*dot, "its operands want different orders");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*dot, "its contracted dimensions are sorted");
      dot->SetAttrs(std::move(attrs));
      context.Count("sorted");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(DotDimensionSorter)

}  // namespace hlo
