// Compares the outputs of a run with what is expected of them, output by output.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"
#include "tools/run/model_file.h"
#include "tools/run/options.h"
#include "tools/support/compare_values.h"

namespace hlo {

// Compares with a model's file; its tolerances are widened to `tolerance`.
Verdict CompareOutputs(const Literal& actual, const ModelFile& model, const Tolerance& tolerance);

struct ExpectedValues {
  Literal value;
  std::set<size_t> ignored;  // leaves without a value
};
// Reads what --expected= names: a folder of .npy files, an .npy or .npz file, a text file of
// literals, or literals, where `(ignored)` stands for an output that is not looked at. The shapes
// are those of `actual`.
absl::StatusOr<ExpectedValues> ReadExpected(const std::string& what, Shape shape);

}  // namespace hlo
