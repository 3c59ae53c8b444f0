// backends/gpu/run_case.h
//
// For tests of the GPU platform: one HLO module, compiled as it is (no passes) and run on the
// simulator with the sanitizer under three schedules; results must agree with the interpreter of
// lib/eval and among each other, bit for bit. With ptxas at hand, the kernels must assemble without
// spills and warnings, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/types/literal.h"

namespace hlo::gpu {

struct GpuCase {
  std::string_view hlo;
  double tolerance = 0;            // relative and absolute; 0: bits equal (NaN equals NaN)
  std::vector<Literal> arguments;  // random when empty
  bool run_passes = false;
  int64_t largest_integer = 100;  // of random arguments
  bool assemble = true;
};

// Runs the case; "" when everything agrees, else what does not.
std::string RunGpuCase(const GpuCase& test);

// The thunks of the module as text; `merge`: with small steps as one.
std::string ThunksOf(std::string_view hlo, bool run_passes = false, bool merge = false);
// Its kernels as LLVM IR, or the error.
std::string KernelsOf(std::string_view hlo, bool run_passes = false);
// The kernels of the module as PTX, or the error.
std::string PtxOf(std::string_view hlo, std::string_view target = "sm_90");
// How many kernels such a text has.
int CountKernels(std::string_view ptx);
// The message with which the module is refused, or "".
std::string RefusalOf(std::string_view hlo);

}  // namespace hlo::gpu
