// The kernels of kernels.h for AVX-512 (x86-64-v4). CMakeLists.txt gives this file its flags.
#define HLO_KERNEL_VECTOR_BYTES 64
#define HLO_KERNEL_TABLE Avx512Kernels
#include "backends/cpu/library/kernels_impl.h"
