// lib/types/dim_numbers.cc
#include "lib/types/dim_numbers.h"

#include <algorithm>

#include "lib/types/append.h"

namespace hlo {
namespace {

// One of the three groups of labels. Where roles share a dimension, features win over batches and
// spatial ones over both.
void AppendLabels(char first, int64_t first_dim, char feature, int64_t feature_dim,
                  const DimVec& spatial, std::string& out) {
  int64_t last = std::max(first_dim, feature_dim);
  for (const int64_t dim : spatial) last = std::max(last, dim);
  std::vector<std::string> labels(last + 1, "?");
  labels[first_dim] = first;
  labels[feature_dim] = feature;
  for (size_t i = 0; i < spatial.size(); ++i) labels[spatial[i]] = std::to_string(i);
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
