// backends/gpu/nvptx/assembler.h
//
// PTX to machine code: by nvJitLink in this process where that library is there, else by NVIDIA's
// ptxas, run as a process. And machine code to text, by NVIDIA's nvdisasm.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/backend.h"

namespace hlo::gpu {

struct Assembled {
  std::string cubin;
  std::string warnings;  // of ptxas; nvJitLink gives none
};

// The path of ptxas (FindProgram, $HLO_PTXAS). NotFound when there is none.
absl::StatusOr<std::string> FindPtxas();
// By ptxas, for `target` ("sm_90").
absl::StatusOr<Assembled> AssembleByPtxas(std::string_view ptx, std::string_view target);

// Whether there is any assembler.
bool HasAssembler();
// By nvJitLink, else by ptxas. May be called by several threads at once.
absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target);
// As Assemble; what is wrong is the user's, and has a place in his file.
absl::StatusOr<Assembled> AssembleEdited(const StageText& ptx, std::string_view target);

// The machine code of a cubin, kernel by kernel. NotFound without nvdisasm ($HLO_NVDISASM).
absl::StatusOr<std::string> Disassemble(std::string_view cubin);

}  // namespace hlo::gpu
