// backends/gpu/nvptx/assembler.h
//
// PTX to machine code by NVIDIA's ptxas, run as a process where there is one, and what it says
// about each kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::gpu {

struct KernelResources {
  std::string name;
  int registers = 0;
  int shared_bytes = 0;
  int stack_bytes = 0;
  int spill_bytes = 0;  // stores and loads
};

struct Assembled {
  std::string cubin;
  std::vector<KernelResources> kernels;
  std::string warnings;
};

// The path of ptxas: $HLO_PTXAS, the PATH, the toolkit's folder. NotFound when there is none.
absl::StatusOr<std::string> FindPtxas();

// Assembles for `target` ("sm_90").
absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target);

// A table of the kernels, one line each.
std::string ToTable(const std::vector<KernelResources>& kernels);

}  // namespace hlo::gpu
