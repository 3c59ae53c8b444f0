// Which dimension plays which role in dot, convolution, gather and scatter.
#pragma once

#include <string>

#include "lib/types/layout.h"

namespace hlo {

// `b01f_01io->b01f`
struct ConvDimNumbers {
  int64_t input_batch = 0;
  int64_t input_feature = 0;
  DimVec input_spatial;
  int64_t kernel_input_feature = 0;
  int64_t kernel_output_feature = 0;
  DimVec kernel_spatial;
  int64_t output_batch = 0;
  int64_t output_feature = 0;
  DimVec output_spatial;
  friend bool operator==(const ConvDimNumbers&, const ConvDimNumbers&) = default;

  // Text as above; positions without a role print as `?`.
  std::string ToString() const;
};

}  // namespace hlo
