// The kernels of kernels.h for SSE4.2 (x86-64-v2). CMakeLists.txt gives this file its flags.
#define HLO_KERNEL_VECTOR_BYTES 16
#define HLO_KERNEL_TABLE SseKernels
#include "backends/cpu/library/kernels_impl.h"
