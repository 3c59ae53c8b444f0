#include "tools/support/compare_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "tools/support/leaves.h"
#include "tools/support/mismatch_hints.h"

namespace hlo {

namespace {

// |x| of the largest finite value.
double LargestMagnitude(const Literal& array) {
  double largest = 0;
  const ElementType type = array.element_type();
  for (int64_t i = 0; i < array.element_count(); ++i) {
    const double magnitude =
        IsComplex(type) ? std::abs(array.GetComplex(i)) : std::abs(array.GetDouble(i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

}  // namespace

void AddReport(Verdict& verdict, size_t number, Shape shape, const CompareReport& report,
               const Tolerance& tolerance) {
  verdict.ok = verdict.ok && report.ok();
  verdict.compared += report.compared;
  verdict.nans += report.nans;
  verdict.report += fmt::format("output {} {}: {}", number, shape, report.ToString());
  verdict.outputs.push_back({number, fmt::format("{}", shape), report.ok(), /*is_ignored=*/false,
                             report.compared, report.mismatched, report.nans, report.max_abs_error,
                             report.max_rel_error, tolerance});
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
  return CompareOutputs(
      actual, expected,
      std::vector<OutputRule>(ArrayLeaves(actual).size(), OutputRule{.tolerance = tolerance}));
}

Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       absl::Span<const OutputRule> rules) {
  Verdict verdict;
  const std::vector<Literal> got = ArrayLeaves(actual);
  const std::vector<Literal> want = ArrayLeaves(expected);
  if (got.size() != want.size()) {
    return {false, fmt::format("{} outputs, expected {}: actual shape is `{}`, expected `{}`\n",
                               got.size(), want.size(), actual.shape(), expected.shape())};
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (rules[i].is_ignored) {
      verdict.report += fmt::format("output {} {}: ignored\n", i, got[i].shape());
      verdict.outputs.push_back({i, fmt::format("{}", got[i].shape()), true, /*is_ignored=*/true});
      continue;
    }
    const ElementType type = got[i].element_type();
    Tolerance tolerance = rules[i].tolerance.value_or(DefaultTolerance(type));
    if (rules[i].of_largest && (IsFloat(type) || IsComplex(type)))
      tolerance.abs = std::max(tolerance.abs, tolerance.rel * LargestMagnitude(want[i]));
    const CompareReport report = Compare(got[i], want[i], tolerance);
    AddReport(verdict, i, got[i].shape(), report, tolerance);
    if (rules[i].of_largest) {
      verdict.report +=
          fmt::format("  allowed: {:.2g} of the value and of the largest one ({:.2g})\n",
                      tolerance.rel, tolerance.abs);
    }
    verdict.report += MismatchHints(got[i], want[i], report);
  }
  return verdict;
}

}  // namespace hlo
