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

bool IsRowMajor(Shape shape) { return !shape.has_layout() || shape == shape.WithDefaultLayout(); }

// Contracted dimensions of one operand.
struct Contracted {
  const DimVec& dims;
  bool sorted;
  bool neighbours;  // no other dimension between them

  explicit Contracted(const DimVec& all)
      : dims(all), sorted(std::is_sorted(all.begin(), all.end())), neighbours(false) {
    if (all.empty()) return;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    neighbours = *most - *least + 1 == static_cast<int64_t>(all.size());
  }
  bool WantsSorting() const { return neighbours && !sorted; }
};

// The operand whose dimensions are to be sorted; null if none. What is sorted of one gets another
// order in the other one: that is no loss where others stand between them, or neither is sorted.
const DimVec* SortingKey(const Contracted& lhs, const Contracted& rhs) {
  if (lhs.WantsSorting() && (!rhs.neighbours || !rhs.sorted)) return &lhs.dims;
  if (rhs.WantsSorting() && !lhs.neighbours) return &rhs.dims;
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> DotDimensionSorter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kDot})) {
    for (Instruction* dot : computation->PostOrder()) {
      if (dot->opcode() != Opcode::kDot || dot->operand_count() != 2 ||
          !IsRowMajor(dot->operand(0)->shape()) || !IsRowMajor(dot->operand(1)->shape()))
        continue;
      DotAttrs attrs = dot->attrs<DotAttrs>();
      const Contracted lhs(attrs.lhs_contracting_dims), rhs(attrs.rhs_contracting_dims);
      const DimVec* key = SortingKey(lhs, rhs);
      if (key == nullptr) {
        if (!lhs.sorted) context.Missed(*dot, "its operands want different orders");
        continue;
      }
      std::vector<size_t> order(key->size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return (*key)[a] < (*key)[b]; });
      const DimVec sorted_lhs = Reordered(attrs.lhs_contracting_dims, order);
      attrs.rhs_contracting_dims = Reordered(attrs.rhs_contracting_dims, order);
      attrs.lhs_contracting_dims = sorted_lhs;
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
