#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {

const KernelTable& KernelsFor(IsaLevel level) {
  switch (level) {
    case IsaLevel::kSse: return SseKernels();
    case IsaLevel::kAvx2: return Avx2Kernels();
    case IsaLevel::kAvx512: return Avx512Kernels();
    case IsaLevel::kAmx: return AmxKernels();
  }
  return SseKernels();
}

}  // namespace hlo::cpu
