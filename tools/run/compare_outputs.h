// Compares the outputs of a run with what is expected of them, output by output.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"
#include "tools/run/model_file.h"
#include "tools/run/options.h"

namespace hlo {

struct Verdict {
  bool ok = true;
  std::string report;  // a line for each output, more for those that do not agree
};

// The tolerance of values of this type where nothing else is said.
Tolerance DefaultTolerance(ElementType type);

// Compares array leaf by array leaf. Without `tolerance` the default of each type is used.
Verdict CompareOutputs(const Literal& actual, const Literal& expected,
                       const std::optional<Tolerance>& tolerance);
// Compares with a model's file; its tolerances are widened to `tolerance`.
Verdict CompareOutputs(const Literal& actual, const ModelFile& model, const Tolerance& tolerance);

// Reads what --expected= names: a folder of .npy files, an .npy or .npz file, a text file of
// literals, or a literal. The shapes are those of `actual`.
absl::StatusOr<Literal> ReadExpected(const std::string& what, Shape shape);

}  // namespace hlo
