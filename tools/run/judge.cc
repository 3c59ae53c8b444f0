#include "tools/run/judge.h"

#include <fmt/format.h>

#include "lib/support/status.h"
#include "tools/run/compare_outputs.h"
#include "tools/run/devices.h"
#include "tools/run/outputs.h"
#include "tools/support/leaves.h"

namespace hlo {

absl::StatusOr<Expectation> ReadExpectation(const ToolOptions& options, Shape result_shape,
                                            const DeviceMesh& mesh) {
  Expectation expected;
  if (options.expected.ends_with(".json")) {
    ASSIGN_OR_RETURN(expected.model, ReadModelFile(options.expected));
    return expected;
  }
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    ASSIGN_OR_RETURN(const std::string own, FolderToRead(options.expected, mesh, device));
    ASSIGN_OR_RETURN(ExpectedValues values, ReadExpected(own, result_shape.WithoutDynamic()));
    expected.values.push_back(std::move(values.value));
    expected.ignored.merge(values.ignored);
  }
  return expected;
}

Judgement Judge(const ToolOptions& options, const Expectation& expected, const DeviceMesh& mesh,
                absl::Span<const Literal> results, std::vector<OutputRule> rules) {
  for (const size_t output : expected.ignored) rules[output].is_ignored = true;
  Judgement all;
  for (size_t device = 0; device < results.size(); ++device) {
    const Verdict verdict =
        expected.model ? CompareOutputs(results[device], *expected.model, options.tolerance())
                       : CompareOutputs(results[device], expected.values[device], rules);
    const auto number = static_cast<int64_t>(device);
    all.report += DeviceHeading(mesh, number) + verdict.report;
    for (const OutputVerdict& output : verdict.outputs) all.outputs.emplace_back(number, output);
    all.ok = all.ok && verdict.ok;
    all.only_nans = all.only_nans && verdict.only_nans();
  }
  return all;
}

std::string OutputsWithNan(absl::Span<const Literal> results, const DeviceMesh& mesh) {
  std::string text;
  for (size_t device = 0; device < results.size(); ++device) {
    const std::vector<Literal> leaves = ArrayLeaves(results[device]);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const int64_t nans = CountNans(leaves[i]);
      if (nans == 0) continue;
      const std::string of =
          mesh.devices() == 1 ? "" : " of " + DeviceName(mesh, static_cast<int64_t>(device));
      text += fmt::format("output {} {}{}: {} of {} elements are NaN\n", i, leaves[i].shape(), of,
                          nans, leaves[i].element_count());
    }
  }
  return text;
}

}  // namespace hlo
