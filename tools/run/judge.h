// What the results of a run are compared with, and what comes of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/eval/in_process_communicator.h"
#include "lib/types/literal.h"
#include "tools/run/model_file.h"
#include "tools/run/options.h"
#include "tools/support/compare_values.h"

namespace hlo {

struct Expectation {
  std::optional<ModelFile> model;
  std::vector<Literal> values;  // by device
  std::set<size_t> ignored;     // outputs that were written as `(ignored)`
  bool is_none() const { return !model && values.empty(); }
};

// What --expected= names, for results of this shape on each device.
absl::StatusOr<Expectation> ReadExpectation(const ToolOptions& options, Shape result_shape,
                                            const DeviceMesh& mesh);

struct Judgement {
  std::string report;                                      // for people
  std::vector<std::pair<int64_t, OutputVerdict>> outputs;  // with their devices
  bool ok = true;
  bool only_nans = true;  // nothing was compared but NaN with NaN
};
// `results` are those of the devices; `rules` of the outputs.
Judgement Judge(const ToolOptions& options, const Expectation& expected, const DeviceMesh& mesh,
                absl::Span<const Literal> results, std::vector<OutputRule> rules);

// A line for each output that holds a NaN.
std::string OutputsWithNan(absl::Span<const Literal> results, const DeviceMesh& mesh);

}  // namespace hlo
