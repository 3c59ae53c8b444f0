// lib/types/dim_numbers.cc
#include "lib/types/dim_numbers.h"

#include <algorithm>

#include "lib/types/append.h"

namespace hlo {
namespace {

// One of the three groups of labels. Features are placed last, so that they win where two roles
// share a dimension.
void AppendLabels(char first, int64_t first_dim, char feature, int64_t feature_dim,
                  const DimVec& spatial, std::string& out) {
  int64_t last = std::max(first_dim, feature_dim);
  for (const int64_t dim : spatial) last = std::max(last, dim);
  std::vector<std::string> labels(last + 1, "?");
  for (size_t i = 0; i < spatial.size(); ++i) labels[spatial[i]] = std::to_string(i);
  labels[first_dim] = first;
  labels[feature_dim] = feature;
  for (const std::string& label : labels) out += label;
}

}  // namespace

std::string ConvDimNumbers::ToString() const {
  std::string out;
  AppendLabels('b', input_batch, 'f', input_feature, input_spatial, out);
  out += '_';
  AppendLabels('i', kernel_input_feature, 'o', kernel_output_feature, kernel_spatial, out);
  out += "->";
  AppendLabels('b', output_batch, 'f', output_feature, output_spatial, out);
  return out;
}

}  // namespace hlo
