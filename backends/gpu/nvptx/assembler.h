// backends/gpu/nvptx/assembler.h
//
// PTX to machine code: by nvJitLink in this process where that library is there, else by NVIDIA's
// ptxas, run as a process.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::gpu {

struct Assembled {
  std::string cubin;
  std::string warnings;  // of ptxas; nvJitLink gives none
};

// The path of ptxas: $HLO_PTXAS, the PATH, the toolkit's folder. NotFound when there is none.
absl::StatusOr<std::string> FindPtxas();
// By ptxas, for `target` ("sm_90").
absl::StatusOr<Assembled> AssembleByPtxas(std::string_view ptx, std::string_view target);

// Whether there is any assembler.
bool HasAssembler();
// By nvJitLink, else by ptxas. May be called by several threads at once.
absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target);

}  // namespace hlo::gpu
