// The GPU platform: HLO passes, fusion, kernels as LLVM IR, a flat array of thunks, a device.
//
//   gpu       runs them on an NVIDIA GPU through the CUDA driver, which is loaded when it is needed
//   gpu-sim   runs the kernels on this processor, thread by thread (sim/simulated_device.h)
#pragma once

#include <memory>

#include "backends/backend.h"

namespace hlo {

std::unique_ptr<Backend> MakeGpuBackend();
std::unique_ptr<Backend> MakeGpuSimBackend();

}  // namespace hlo
