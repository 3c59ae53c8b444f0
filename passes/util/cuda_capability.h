// The compute capability of an NVIDIA GPU, as an option of passes:
//
//   --passes=cudnn_pad_for_convolutions{compute_capability=7.5}
//
// Read as XLA and NVIDIA write it: two numbers, perhaps with the letter of a set of features that
// only this GPU (`9.0a`) or its family (`10.0f`) has, which no pass asks about; or as a compiler of
// CUDA does in `sm_90a` and `sm_100`, where the last digit is the second number. `9` is an error.
#pragma once

#include <compare>
#include <string>

#include "passes/pass.h"

namespace hlo {

struct CudaCapability {
  int generation = 8;
  int revision = 0;
  friend auto operator<=>(const CudaCapability&, const CudaCapability&) = default;
};

absl::Status ParseOption(const OptionText& text, CudaCapability& out);
std::string OptionValue(CudaCapability capability);
std::string OptionType(CudaCapability);

}  // namespace hlo
