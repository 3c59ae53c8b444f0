// backends/gpu/nvptx/assembler.h
//
// PTX to machine code: by NVIDIA's ptxas, run as a process, where it is there, else by nvJitLink in
// this process, which takes more registers for the same PTX. And machine code to text, by nvdisasm.
//
// $HLO_GPU_ASSEMBLER names one of `ptxas`, `nvjitlink`, and `driver`, which assembles nothing here:
// the driver translates the PTX when it is loaded.
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

// Whether there is an assembler, or a name of one that Assemble refuses.
bool HasAssembler();
// May be called by several threads at once.
absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target);
// As Assemble; what is wrong is the user's, and has a place in his file.
absl::StatusOr<Assembled> AssembleEdited(const StageText& ptx, std::string_view target);

// The machine code of a cubin, kernel by kernel. NotFound without nvdisasm ($HLO_NVDISASM).
absl::StatusOr<std::string> Disassemble(std::string_view cubin);

}  // namespace hlo::gpu
