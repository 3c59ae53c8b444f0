// The JSON files beside the models and the corpus (testdata/models/README.md): how the inputs of a
// module are made, and what XLA computed from them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"
#include "tools/support/generator.h"

namespace hlo {

struct ModelInput {
  std::string name;
  Shape shape;
  InputSpec spec;
};

struct ModelStatistics {
  int64_t nonfinite = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double rms = 0;
};

// What is known of one output. Scalars of complex arrays are counted one by one.
struct ModelOutput {
  Shape shape;
  Tolerance tolerance;
  std::vector<int64_t> places;  // linear indices of `values`; empty: all scalars in order
  bool sampled = false;
  Literal values;  // one dimension, component type
  std::optional<ModelStatistics> statistics;
};

struct ModelFile {
  std::string path;
  std::string name;
  std::string hlo;  // path of the text
  uint64_t seed = 0;
  std::vector<ModelInput> inputs;
  std::vector<ModelOutput> outputs;
};

// Reads and checks a file. The message of an error is rendered with its place.
absl::StatusOr<ModelFile> ReadModelFile(const std::string& path);

// Compares an array with what the file says of output `index`. A report with `shape_error` set: the
// shapes differ, or a statistic does not agree.
CompareReport CompareWithModel(const Literal& actual, const ModelOutput& expected,
                               const Tolerance& extra);

// min, max, mean and root mean square of the finite scalars, in f64.
ModelStatistics StatisticsOf(const Literal& array);

}  // namespace hlo
