// lib/types/literal_test_util.h
//
// Short makers of shapes and vectors for the tests beside this file.
#pragma once

#include <complex>
#include <vector>

#include "lib/types/literal.h"

namespace hlo {

inline Shape F32Shape(std::vector<int64_t> dims) { return Shape::Array(ElementType::kF32, dims); }

template <class T>
Literal VectorOf(ElementType type, const std::vector<T>& values) {
  return Literal::Array<T>(Shape::Array(type, {static_cast<int64_t>(values.size())}), values);
}
inline Literal F32(std::vector<double> values) {
  return VectorOf<float>(ElementType::kF32, std::vector<float>(values.begin(), values.end()));
}
inline Literal F64(std::vector<double> values) { return VectorOf(ElementType::kF64, values); }
inline Literal S32(std::vector<int32_t> values) { return VectorOf(ElementType::kS32, values); }
inline Literal C64(std::vector<std::complex<float>> values) {
  return VectorOf(ElementType::kC64, values);
}

// An array of any type from doubles in row-major order.
inline Literal ArrayOf(ElementType type, std::vector<int64_t> dims, std::vector<double> values) {
  Literal literal(Shape::Array(type, dims));
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(static_cast<int64_t>(i), values[i]);
  return literal;
}

}  // namespace hlo
