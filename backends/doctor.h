// What this machine offers to the platforms, and what to install for those it cannot serve.
#pragma once

#include <string>

namespace hlo {

// A few lines: processor, CUDA driver, GPU, nvJitLink, ptxas.
std::string DoctorReport();

}  // namespace hlo
