#include "lib/support/warning_list.h"

#include <algorithm>
#include <numeric>

namespace hlo {

std::vector<Diagnostic> WarningList::Take() {
  std::map<size_t, int64_t> dropped;  // by the last one kept of the kind
  for (const auto& [format, kind] : kinds_) {
    if (kind.count > kMostOfAKind) dropped[kind.last] = kind.count - kMostOfAKind;
  }
  std::vector<size_t> order(kept_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return kept_[a].loc.offset < kept_[b].loc.offset;
  });
  std::vector<Diagnostic> result;
  for (const size_t at : order) {
    result.push_back(std::move(kept_[at]));
    const auto more = dropped.find(at);
    if (more == dropped.end()) continue;
    result.push_back({Severity::kNote, {}, fmt::format("{} more like it", more->second)});
  }
  kept_.clear();
  kinds_.clear();
  return result;
}

}  // namespace hlo
