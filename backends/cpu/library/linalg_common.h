// backends/cpu/library/linalg_common.h
//
// What the kernels of linalg.h share: how elements are read and written, and products of blocks.
#pragma once

#include <complex>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/library/dot.h"
#include "backends/cpu/library/dot_engines.h"
#include "lib/support/status.h"

namespace hlo::cpu {

template <class T>
constexpr bool kIsComplexType =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
T Conjugate(T x) {
  if constexpr (kIsComplexType<T>) return std::conj(x);
  return x;
}

// Multiplication without the special treatment of infinities that std::complex has.
template <class T>
T Times(T a, T b) {
  if constexpr (kIsComplexType<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

template <class T>
auto RealPart(T x) {
  if constexpr (kIsComplexType<T>) {
    return x.real();
  } else {
    return x;
  }
}

// Elements in memory as values of T and back.
template <class T>
class ElementAccess final {
 public:
  explicit ElementAccess(ElementType type) : type_(type) {}

  T Read(const void* base, int64_t i) const {
    if constexpr (std::is_same_v<T, float>) {
      if (type_ == ElementType::kBF16) return static_cast<const BF16*>(base)[i].ToFloat();
      if (type_ == ElementType::kF16) return static_cast<const F16*>(base)[i].ToFloat();
    }
    return static_cast<const T*>(base)[i];
  }

  void Write(T x, void* base, int64_t i) const {
    if constexpr (std::is_same_v<T, float>) {
      if (type_ == ElementType::kBF16)
        return static_cast<void>(static_cast<BF16*>(base)[i] = BF16::FromFloat(x));
      if (type_ == ElementType::kF16)
        return static_cast<void>(static_cast<F16*>(base)[i] = F16::FromFloat(x));
    }
    static_cast<T*>(base)[i] = x;
  }

 private:
  ElementType type_;
};

// Blocks of real matrices are multiplied by the kernels of dot.h; complex ones by plain loops.
template <class T>
constexpr bool kHasProducts = !kIsComplexType<T>;

template <class T>
constexpr ElementType kProductType =
    std::is_same_v<T, double> ? ElementType::kF64 : ElementType::kF32;

// Calls make.template operator()<T>() for the type that elements of `type` are computed in.
template <class F>
absl::StatusOr<std::unique_ptr<class LinalgKernel>> WithComputeType(ElementType type, F&& make) {
  if (type == ElementType::kF64) return make.template operator()<double>();
  if (type == ElementType::kC64) return make.template operator()<std::complex<float>>();
  if (type == ElementType::kC128) return make.template operator()<std::complex<double>>();
  if (type == ElementType::kF32 || type == ElementType::kF16 || type == ElementType::kBF16) {
    return make.template operator()<float>();
  }
  return Unsupported(SourceLoc(), "the CPU library has no linear algebra of `{}`", Text(type));
}

}  // namespace hlo::cpu
