// Scratch memory for the library's tests: aligned as the routines ask for, freed at the
// end of the scope.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace hlo::cpu {

struct Scratch {
  explicit Scratch(int64_t bytes)
      : data(std::aligned_alloc(64, static_cast<size_t>((bytes + 128) / 64 * 64))) {}
  ~Scratch() { std::free(data); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data;
};

}  // namespace hlo::cpu
