// What this machine offers to the platforms, and what to install for those it cannot serve.
#pragma once

#include <string>

namespace hlo {

// A few lines: processor, CUDA driver, GPU, nvJitLink, ptxas.
std::string DoctorReport();
// For --version: LLVM, the CUDA driver (which is looked for, and not started).
std::string VersionLines();

}  // namespace hlo
