#include "lib/types/memory_order.h"

#include "lib/support/saturate.h"
#include "lib/types/shape_util.h"

namespace hlo {

std::vector<Run> AddressRuns(Shape shape) {
  const DimVec strides = LayoutStrides(shape);
  std::vector<Run> runs;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape.dim(i) == 1) continue;
    if (!runs.empty() && strides[i] == SaturatingMul(runs.back().size, runs.back().stride)) {
      runs.back().size = SaturatingMul(runs.back().size, shape.dim(i));
    } else {
      runs.push_back({shape.dim(i), strides[i]});
    }
  }
  return runs;
}

bool KeepsRowMajorOrder(Shape from, Shape to) {
  if (!from.IsArray() || !to.IsArray() || from.element_count() == 0) return true;
  const std::vector<Run> before = AddressRuns(from.WithMissingLayoutsFilled());
  const std::vector<Run> after = AddressRuns(to.WithMissingLayoutsFilled());
  // Of one run: the elements lie in their logical order.
  if (from.element_type() != to.element_type()) return before.size() <= 1 && after.size() <= 1;
  return before == after;
}

bool LiesRowMajor(Shape array) {
  const Layout* const layout = array.layout_or_null();
  return layout == nullptr || layout->IsRowMajor();
}

DimVec MajorToMinor(Shape array) {
  const Layout* layout = array.layout_or_null();
  const DimVec order =
      layout == nullptr ? Layout::RowMajor(array.rank()).minor_to_major : layout->minor_to_major;
  return DimVec(order.rbegin(), order.rend());
}

Shape InMemoryOrder(Shape array) {
  const DimVec order = MajorToMinor(array);
  Layout layout = array.WithMissingLayoutsFilled().layout();
  layout.minor_to_major = Layout::RowMajor(array.rank()).minor_to_major;
  Shape ordered =
      Shape::Array(array.element_type(), Permute(array.dims(), order)).WithLayout(layout);
  for (size_t d = 0; d < order.size(); ++d) {
    if (array.is_dynamic(static_cast<int>(order[d])))
      ordered = ordered.WithDynamic(static_cast<int>(d), true);
  }
  return ordered;
}

bool DifferInOrderOnly(Shape a, Shape b) {
  Layout of_a = a.WithMissingLayoutsFilled().layout();
  const Layout of_b = b.WithMissingLayoutsFilled().layout();
  of_a.minor_to_major = of_b.minor_to_major;
  return of_a == of_b;
}

}  // namespace hlo
