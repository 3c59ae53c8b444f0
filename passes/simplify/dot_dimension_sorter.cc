#include "passes/simplify/dot_dimension_sorter.h"

#include <algorithm>
#include <numeric>

#include "lib/types/memory_order.h"

namespace hlo {
namespace {

DimVec Reordered(const DimVec& dims, const std::vector<size_t>& order) {
  DimVec result;
  for (const size_t i : order) result.push_back(dims[i]);
  return result;
}

// Whether they are neighbours, in any order.
bool AreNeighbours(const DimVec& dims) {
  const auto [least, most] = std::minmax_element(dims.begin(), dims.end());
  return *most - *least + 1 == static_cast<int64_t>(dims.size());
}

// By which side to sort: one whose dimensions are neighbours out of order, where the other side
// does not have them in order, or not as neighbours.
enum class SortBy { kNone, kLhs, kRhs };
SortBy SideToSortBy(const DimVec& lhs, const DimVec& rhs) {
  if (lhs.empty()) return SortBy::kNone;
  const bool lhs_neighbours = AreNeighbours(lhs), rhs_neighbours = AreNeighbours(rhs);
  const bool lhs_wants = lhs_neighbours && !absl::c_is_sorted(lhs);
  const bool rhs_wants = rhs_neighbours && !absl::c_is_sorted(rhs);
  if (lhs_wants && (rhs_wants || !rhs_neighbours)) return SortBy::kLhs;
  return rhs_wants && !lhs_neighbours ? SortBy::kRhs : SortBy::kNone;
}

}  // namespace

absl::StatusOr<bool> DotDimensionSorter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kDot})) {
    for (Instruction* dot : computation->PostOrder()) {
      if (dot->opcode() != Opcode::kDot || dot->operand_count() != 2 ||
          !LiesRowMajor(dot->operand(0)->shape()) || !LiesRowMajor(dot->operand(1)->shape()))
        continue;
      DotAttrs attrs = dot->attrs<DotAttrs>();
      DimVec &lhs = attrs.lhs_contracting_dims, &rhs = attrs.rhs_contracting_dims;
      const SortBy side = SideToSortBy(lhs, rhs);
      if (side == SortBy::kNone) continue;
      const DimVec& key = side == SortBy::kLhs ? lhs : rhs;
      std::vector<size_t> order(key.size());
      absl::c_iota(order, size_t{0});
      absl::c_sort(order, [&](size_t a, size_t b) { return key[a] < key[b]; });
      if (!context.MayRewrite()) return changed;
      context.Passed(*dot, "its contracted dimensions are sorted");
      lhs = Reordered(lhs, order);
      rhs = Reordered(rhs, order);
      dot->SetAttrs(std::move(attrs));
      context.Count("sorted");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(DotDimensionSorter)

}  // namespace hlo
