// Versions of cuDNN and CUDA, and what they can do.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "passes/util/cuda_capability.h"

namespace hlo {

// Of cuDNN, or of CUDA.
struct DnnVersion {
  int64_t major_number = 0;
  int64_t minor_number = 0;
  int64_t patch = 0;
  friend auto operator<=>(const DnnVersion&, const DnnVersion&) = default;
};
absl::Status ParseOption(const OptionText& text, DnnVersion& out);
std::string OptionValue(const DnnVersion& version);
std::string OptionType(const DnnVersion&);

// The first GPUs that convolve f8: Hopper, with a newer cuDNN Ada as well.
CudaCapability LeastForF8Convolutions(const DnnVersion& dnn);

}  // namespace hlo
