// The kernels of kernels.h for AVX2 and FMA (x86-64-v3). CMakeLists.txt gives this file its flags.
#define HLO_KERNEL_VECTOR_BYTES 32
#define HLO_KERNEL_TABLE Avx2Kernels
#include "backends/cpu/library/kernels_impl.h"
