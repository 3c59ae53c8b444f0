#include "lib/eval/contraction.h"

#include <algorithm>
#include <complex>

#include "lib/eval/eval_internal.h"
#include "lib/math/accumulator.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

template <class T>
T Times(T a, T b) {
  return a * b;
}
// Annex G recovers infinities from NaN products; HLO does not.
template <class F>
std::complex<F> Times(std::complex<F> a, std::complex<F> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Vectors of 32 bytes: the compiler splits them where the processor's are shorter.
template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = 32 / sizeof(T);
};

template <class T>
void MultiplyAddRow(T factor, const T* row, int64_t count, T* sums) {
  int64_t j = 0;
  if constexpr (std::is_same_v<T, bool>) {
    for (; j < count; ++j) sums[j] = sums[j] || (factor && row[j]);
  } else {
    if constexpr (std::is_arithmetic_v<T>) {
      using Vector = typename VectorOf<T>::Type;
      constexpr int64_t kLanes = VectorOf<T>::kLanes;
      for (; j + kLanes <= count; j += kLanes) {
        Vector* sum = reinterpret_cast<Vector*>(sums + j);
        *sum += *reinterpret_cast<const Vector*>(row + j) * factor;
      }
    }
    for (; j < count; ++j) sums[j] += Times(factor, row[j]);
  }
}

// Four rows of the result share the loads of a row of `rhs`. Factors and rows of sums lie
// `factor_stride` and `sum_stride` apart.
template <class T>
void MultiplyAddFourRows(const T* factors, int64_t factor_stride, const T* row, int64_t count,
                         T* sums, int64_t sum_stride) {
  int64_t j = 0;
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    using Vector = typename VectorOf<T>::Type;
    constexpr int64_t kLanes = VectorOf<T>::kLanes;
    const T f0 = factors[0], f1 = factors[factor_stride], f2 = factors[2 * factor_stride],
            f3 = factors[3 * factor_stride];
    for (; j + kLanes <= count; j += kLanes) {
      const Vector value = *reinterpret_cast<const Vector*>(row + j);
      *reinterpret_cast<Vector*>(sums + j) += value * f0;
      *reinterpret_cast<Vector*>(sums + sum_stride + j) += value * f1;
      *reinterpret_cast<Vector*>(sums + 2 * sum_stride + j) += value * f2;
      *reinterpret_cast<Vector*>(sums + 3 * sum_stride + j) += value * f3;
    }
  }
  for (int64_t r = 0; r < 4 && j < count; ++r) {
    MultiplyAddRow(factors[r * factor_stride], row + j, count - j, sums + r * sum_stride + j);
  }
}

// What every sum begins with.
template <class T>
T FirstSum(bool is_sum) {
  if constexpr (std::is_integral_v<T>) {
    return T(0);
  } else {
    return is_sum ? T(0) : -T(0);
  }
}

// One matrix product added to what `sums` begin with, by blocks of columns whose sums stay in the
// cache.
template <class T>
void MatMulOne(const MatMul& s, const T* lhs, const T* rhs, T* sums) {
  constexpr int64_t kBlock = 4096 / sizeof(T);
  for (int64_t j = 0; j < s.columns; j += kBlock) {
    const int64_t width = std::min(kBlock, s.columns - j);
    int64_t i = 0;
    for (; i + 4 <= s.rows; i += 4) {
      for (int64_t k = 0; k < s.k; ++k) {
        MultiplyAddFourRows(lhs + i * s.k + k, s.k, rhs + k * s.columns + j, width,
                            sums + i * s.columns + j, s.columns);
      }
    }
    for (; i < s.rows; ++i) {
      for (int64_t k = 0; k < s.k; ++k) {
        MultiplyAddRow(lhs[i * s.k + k], rhs + k * s.columns + j, width, sums + i * s.columns + j);
      }
    }
  }
}

template <class T>
void MatMulOf(const MatMul& s, const uint8_t* lhs, const uint8_t* rhs, uint8_t* out) {
  T* sums = reinterpret_cast<T*>(out);
  std::fill(sums, sums + s.batch * s.rows * s.columns, FirstSum<T>(s.is_sum));
  for (int64_t b = 0; b < s.batch; ++b) {
    MatMulOne(s, reinterpret_cast<const T*>(lhs) + b * s.rows * s.k,
              reinterpret_cast<const T*>(rhs) + b * s.k * s.columns, sums + b * s.rows * s.columns);
  }
}

}  // namespace

ElementType ProductType(ElementType lhs, ElementType rhs, ElementType result) {
  for (bool (*is_kind)(ElementType) : {+[](ElementType type) { return IsComplex(type); },
                                       +[](ElementType type) { return IsFloat(type); },
                                       +[](ElementType type) { return IsInteger(type); }}) {
    if (is_kind(result)) return result;
    if (!is_kind(lhs) && !is_kind(rhs)) continue;
    if (!is_kind(lhs) || !is_kind(rhs)) return is_kind(lhs) ? lhs : rhs;
    return BitWidth(rhs) > BitWidth(lhs) ? rhs : lhs;
  }
  return result;
}

ElementType ProductType(const Instruction& product) {
  return ProductType(product.operand(0)->shape().element_type(),
                     product.operand(1)->shape().element_type(), product.shape().element_type());
}

ElementType MatMulType(ElementType result) {
  if (IsInteger(result)) return BitWidth(result) <= 32 ? ElementType::kU32 : ElementType::kU64;
  return AccumulatorType(math::Accumulation::kDot, result, math::Carrier::kInterpreter);
}

Literal AsFactor(const Literal& operand, ElementType type) {
  const bool becomes_narrow_float =
      IsFloat(type) && !IsFloat(operand.element_type()) && !IsComplex(operand.element_type());
  return ConvertLiteral(becomes_narrow_float ? ConvertLiteral(operand, type) : operand,
                        MatMulType(type));
}

void RunMatMul(const MatMul& sizes, ElementType type, const uint8_t* lhs, const uint8_t* rhs,
               uint8_t* out) {
  if (type == ElementType::kF32) return MatMulOf<float>(sizes, lhs, rhs, out);
  if (type == ElementType::kF64) return MatMulOf<double>(sizes, lhs, rhs, out);
  if (type == ElementType::kU32) return MatMulOf<uint32_t>(sizes, lhs, rhs, out);
  if (type == ElementType::kU64) return MatMulOf<uint64_t>(sizes, lhs, rhs, out);
  if (type == ElementType::kC64) return MatMulOf<std::complex<float>>(sizes, lhs, rhs, out);
  if (type == ElementType::kC128) return MatMulOf<std::complex<double>>(sizes, lhs, rhs, out);
  HLO_CHECK(type == ElementType::kPred);
  MatMulOf<bool>(sizes, lhs, rhs, out);
}

void MultiplyAdd(ElementType type, const uint8_t* factor, const uint8_t* row, int64_t count,
                 uint8_t* sums) {
  const auto run = [&]<class T>(T) {
    MultiplyAddRow(*reinterpret_cast<const T*>(factor), reinterpret_cast<const T*>(row), count,
                   reinterpret_cast<T*>(sums));
  };
  if (type == ElementType::kF32) return run(float());
  if (type == ElementType::kF64) return run(double());
  if (type == ElementType::kU32) return run(uint32_t());
  if (type == ElementType::kU64) return run(uint64_t());
  if (type == ElementType::kC64) return run(std::complex<float>());
  if (type == ElementType::kC128) return run(std::complex<double>());
  HLO_CHECK(type == ElementType::kPred);
  run(bool());
}

}  // namespace hlo
