// backends/cpu/library/host.h
//
// What the processor of this machine can do, from CPUID (never from its model name), cut down to
// what the user allows (`--cpu-features=avx2`). Everything that chooses code by processor asks
// here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::cpu {

// Instruction sets in ascending order; each includes the ones before it.
enum class IsaLevel {
  kSse,     // SSE4.2, 128 bits (x86-64-v2)
  kAvx2,    // AVX2, FMA, F16C, BMI, 256 bits (x86-64-v3)
  kAvx512,  // AVX-512 F, BW, CD, DQ, VL, 512 bits (x86-64-v4)
  kAmx,     // AVX-512 with bf16 and VNNI, and the AMX tiles for bf16 and int8
};

struct Host {
  IsaLevel level = IsaLevel::kSse;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  int processors = 1;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t l3_bytes = 32 << 20;

  int vector_bytes() const;

  // Processor and feature list for LLVM's code generator.
  std::string llvm_cpu() const;
  std::string llvm_features() const;

  // "avx2, 2 processors, L2 512 KiB".
  std::string ToString() const;
};

// Describes this machine. `mask` is empty or `native` (everything), `sse`, `avx2`, `avx512` or
// `amx`: the highest level to use. A mask above what the machine has is an error, but for one such
// as `<=avx512`, which is a bound.
absl::StatusOr<Host> DetectHost(std::string_view mask = "");

// The name of a level as a mask spells it.
std::string_view IsaName(IsaLevel level);

}  // namespace hlo::cpu
