// lib/math/accumulator.h
//
// The type that many values are summed or multiplied in before the result is rounded, once, to the
// type of its elements. The interpreter and all code generators read the same table.
//
// Types that are no row here are carried as they are: f64, complex and pred; integers too, which
// wrap, so that any integer at least as wide gives the same bits.
#pragma once

#include <array>
#include <cstdint>

#include "lib/types/element_type.h"

namespace hlo::math {

enum class Accumulation : uint8_t {
  kDot,             // sums of products: dot, convolution, linear algebra
  kSum,             // reduce and reduce-window by one `add`
  kProduct,         // … by one `multiply`
  kRunningSum,      // a reduce-window whose elements continue their neighbour's: a prefix sum
  kRunningProduct,  // …
};

// Who carries.
enum class Carrier : uint8_t { kInterpreter, kCpu, kGpu };

struct AccumulatorRow {
  Accumulation what;
  std::array<ElementType, 3> narrow;  // of floats under 32 bits, by carrier
  std::array<ElementType, 3> f32;     // of f32
};

// clang-format off
inline constexpr AccumulatorRow kAccumulators[] = {
    //                               of narrower floats                                            of f32
    //                               interpreter        cpu                gpu                     interpreter        cpu                gpu
    {Accumulation::kDot,            {ElementType::kF32, ElementType::kF32, ElementType::kF32}, {ElementType::kF32, ElementType::kF32, ElementType::kF32}},
    {Accumulation::kSum,            {ElementType::kF64, ElementType::kF32, ElementType::kF32}, {ElementType::kF64, ElementType::kF32, ElementType::kF32}},
    {Accumulation::kProduct,        {ElementType::kF64, ElementType::kF32, ElementType::kF32}, {ElementType::kF32, ElementType::kF32, ElementType::kF32}},
    {Accumulation::kRunningSum,     {ElementType::kF64, ElementType::kF64, ElementType::kF32}, {ElementType::kF64, ElementType::kF64, ElementType::kF32}},
    {Accumulation::kRunningProduct, {ElementType::kF64, ElementType::kF64, ElementType::kF32}, {ElementType::kF32, ElementType::kF32, ElementType::kF32}},
};
// clang-format on

constexpr ElementType AccumulatorType(Accumulation what, ElementType type, Carrier carrier) {
  if (!IsFloat(type) || type == ElementType::kF64) return type;
  const AccumulatorRow& row = kAccumulators[static_cast<size_t>(what)];
  return (BitWidth(type) < 32 ? row.narrow : row.f32)[static_cast<size_t>(carrier)];
}

}  // namespace hlo::math
