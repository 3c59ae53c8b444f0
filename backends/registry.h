// The platforms by name, from backends.def. Back ends are made on first use and live as long as the
// process.
#pragma once

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/platforms.h"

namespace hlo {

// The words of --emit, and of the column `stages` of backends.def.
struct StageWord {
  std::string_view word;
  EmitStage stage;
};
inline constexpr StageWord kStageWords[] = {
    {"hlo", EmitStage::kHlo},        {"buffers", EmitStage::kBuffers},
    {"tile", EmitStage::kTile},      {"thunks", EmitStage::kThunks},
    {"llvm", EmitStage::kLlvm},      {"asm", EmitStage::kAsm},
    {"ptx", EmitStage::kPtx},        {"sass", EmitStage::kSass},
    {"kernels", EmitStage::kKernels}};

// Of a GPU's machine code: made where NVIDIA's tools are installed.
inline constexpr bool NeedsNvidiaTools(EmitStage stage) {
  return stage == EmitStage::kSass || stage == EmitStage::kKernels;
}

// The rows of the platforms that are built.
std::span<const PlatformInfo> AllBackends();
// The back end of this name or alias; the error names the close one and lists all.
absl::StatusOr<Backend*> FindBackend(std::string_view name);

}  // namespace hlo
