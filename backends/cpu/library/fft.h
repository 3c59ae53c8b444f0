// backends/cpu/library/fft.h
//
// Fourier transforms of any length over the last one to three dimensions, as HLO's fft: forward
// ones are not scaled, inverse ones are divided by the length. Lengths with prime factors above 13
// go by Bluestein's method, so the time is O(n log n) for every length.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "backends/cpu/library/host.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

enum class FftKind {
  kForward,      // complex to complex
  kInverse,      // complex to complex
  kRealForward,  // real to complex, the last dimension becomes length / 2 + 1
  kRealInverse,  // the reverse; parts that a real signal cannot have are ignored
};

struct FftSpec {
  FftKind kind = FftKind::kForward;
  bool is_double = false;
  int64_t batch = 1;                       // product of the dimensions before the transformed ones
  absl::InlinedVector<int64_t, 3> length;  // of the signal, major to minor; 1 to 3 of them
  int threads = 1;
};

class FftKernel {
 public:
  virtual ~FftKernel() = default;
  virtual int64_t scratch_bytes() const = 0;
  // Arrays are dense and row-major; `output` may be `input` for complex to complex.
  virtual void Run(const void* input, void* output, void* scratch, ThreadPool& pool) const = 0;
};

absl::StatusOr<std::unique_ptr<FftKernel>> MakeFft(const FftSpec& spec, const Host& host);

}  // namespace hlo::cpu
