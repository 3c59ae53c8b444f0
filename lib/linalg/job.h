// lib/linalg/job.h
//
// What a routine gets: one matrix of the batch, or one right-hand side, with everything around it.
// Arrays are dense and row-major, operands may not be written, results hold nothing yet.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/linalg/workspace.h"

namespace hlo::linalg {

// Sizes by the letters of the target's shapes.
class Sizes final {
 public:
  int64_t& operator[](char letter) { return sizes_[static_cast<size_t>(letter - 'a')]; }
  int64_t operator[](char letter) const { return sizes_[static_cast<size_t>(letter - 'a')]; }

 private:
  std::array<int64_t, 26> sizes_ = {};
};

// Letters, numbers and booleans by name.
class Attributes final {
 public:
  void Set(std::string_view name, int64_t value) { values_.emplace_back(name, value); }
  // Zero for what the target does not have.
  int64_t operator[](std::string_view name) const {
    for (const auto& [key, value] : values_) {
      if (key == name) return value;
    }
    return 0;
  }
  char letter(std::string_view name) const { return static_cast<char>((*this)[name]); }

 private:
  std::vector<std::pair<std::string_view, int64_t>> values_;
};

struct Job {
  const Sizes& sizes;
  const Attributes& attributes;
  const void* lapack;  // the routine, where one is used
  Workspace& work;
  std::array<const void*, 4> operands = {};
  std::array<void*, 6> results = {};

  int64_t size(char letter) const { return sizes[letter]; }
  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(operands[static_cast<size_t>(i)]);
  }
  template <class T>
  T* out(int i) const {
    return static_cast<T*>(results[static_cast<size_t>(i)]);
  }
};

using Routine = void (*)(const Job& job);

// A routine for each element type; null where there is none.
struct RoutinesByType {
  Routine f32 = nullptr, f64 = nullptr, c64 = nullptr, c128 = nullptr, s32 = nullptr, s64 = nullptr;
};

}  // namespace hlo::linalg
