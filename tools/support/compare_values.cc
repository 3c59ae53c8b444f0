#include "tools/support/compare_values.h"

#include <fmt/format.h>

#include "tools/support/leaves.h"
#include "tools/support/mismatch_hints.h"

namespace hlo {

void AddReport(Verdict& verdict, size_t number, Shape shape, const CompareReport& report) {
  verdict.ok = verdict.ok && report.ok();
  verdict.compared += report.compared;
  verdict.nans += report.nans;
  verdict.report += fmt::format("output {} {}: {}", number, shape, report.ToString());
}

Tolerance DefaultTolerance(ElementType type) {
  const ElementType part = ComponentType(type);
  if (!IsFloat(part)) return {};
  if (part == ElementType::kF64) return {1e-9, 1e-9, 0};
  if (part == ElementType::kF32) return {1e-4, 1e-4, 0};
  if (part == ElementType::kF16) return {2e-3, 2e-3, 0};
  if (part == ElementType::kBF16) return {2e-2, 2e-2, 0};
  return {0.25, 0.25, 0};
}

Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       const std::optional<Tolerance>& tolerance) {
  Verdict verdict;
  const std::vector<Literal> got = ArrayLeaves(actual);
  const std::vector<Literal> want = ArrayLeaves(expected);
  if (got.size() != want.size()) {
    return {false, fmt::format("{} outputs, expected {}: actual shape is `{}`, expected `{}`\n",
                               got.size(), want.size(), actual.shape(), expected.shape())};
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const CompareReport report =
        Compare(got[i], want[i], tolerance.value_or(DefaultTolerance(got[i].element_type())));
    AddReport(verdict, i, got[i].shape(), report);
    verdict.report += MismatchHints(got[i], want[i], report);
  }
  return verdict;
}

}  // namespace hlo
