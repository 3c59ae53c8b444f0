// backends/gpu/cuda/nvjitlink.h
//
// NVIDIA's linker as a library, loaded when it is first asked for: PTX to machine code in this
// process, without a GPU. A call costs a few milliseconds less than one of ptxas, and several may
// run at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::gpu {

inline constexpr int kNvJitLinkInputPtx = 2;

struct NvJitLink {
#define HLO_NVJITLINK_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "backends/gpu/cuda/nvjitlink.def"

  unsigned major = 0, minor = 0;  // of the toolkit it belongs to
  std::string path;               // the library as it was found

  // PTX for `target` ("sm_90") to a cubin.
  absl::StatusOr<std::string> Link(std::string_view ptx, std::string_view target) const;
};

// The loaded library: of $HLO_NVJITLINK, else the first that find_library.h finds. NotFound when
// there is none; an empty $HLO_NVJITLINK means not to look.
absl::StatusOr<const NvJitLink*> LoadNvJitLink();

// Loads one library; for tests.
absl::StatusOr<NvJitLink> LoadNvJitLinkFrom(const std::string& library);

}  // namespace hlo::gpu
