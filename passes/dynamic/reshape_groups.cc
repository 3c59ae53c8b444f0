#include "passes/dynamic/reshape_groups.h"

#include "lib/types/shape_util.h"

namespace hlo {

std::vector<ReshapeGroup> ReshapeGroups(Shape from, Shape to) {
  const auto starts = CommonFactors(from.dims(), to.dims());
  std::vector<ReshapeGroup> groups;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    groups.push_back({static_cast<int>(starts[i].first), static_cast<int>(starts[i + 1].first),
                      static_cast<int>(starts[i].second), static_cast<int>(starts[i + 1].second)});
  }
  return groups;
}

}  // namespace hlo
