// lib/support/denormals.h
//
// The floating-point control word of the calling thread, as far as this project touches it: whether
// denormal results become zero and denormal inputs read as zero.
//
//   ScopedDenormals flush(Denormals::kFlush);   // until the end of the scope, this thread only
//
// A ThreadPool region runs every worker with the control word of the thread that started it, so a
// scope around a run covers all threads of the run.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hlo {

enum class Denormals { kKeep, kFlush };

// Reads the control word of this thread.
inline uint32_t FloatControl() {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  return 0;
#endif
}

// Replaces the control word of this thread.
inline void SetFloatControl(uint32_t word) {
#if defined(__x86_64__)
  _mm_setcsr(word);
#else
  static_cast<void>(word);
#endif
}

// The control word `word` with the wish about denormals put in: bit 15 flushes results, bit 6
// inputs.
constexpr uint32_t WithDenormals(uint32_t word, Denormals mode) {
  constexpr uint32_t kFlushBits = (1u << 15) | (1u << 6);
  return mode == Denormals::kFlush ? word | kFlushBits : word & ~kFlushBits;
}

// Sets the treatment of denormals in this thread and restores the old one at the end of the scope.
class ScopedDenormals final {
 public:
  explicit ScopedDenormals(Denormals mode) : saved_(FloatControl()) {
    SetFloatControl(WithDenormals(saved_, mode));
  }
  ~ScopedDenormals() { SetFloatControl(saved_); }
  ScopedDenormals(const ScopedDenormals&) = delete;
  ScopedDenormals& operator=(const ScopedDenormals&) = delete;

 private:
  uint32_t saved_;
};

}  // namespace hlo
