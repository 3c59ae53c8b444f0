// Arrays as vectors of the type that linear algebra computes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lib/types/element_access.h"
#include "lib/types/literal.h"

namespace hlo {

// All values of an array, as double or std::complex<double>.
template <class T>
std::vector<T> ReadAll(const Literal& literal) {
  std::vector<T> values(static_cast<size_t>(literal.element_count()));
  if constexpr (std::is_same_v<T, double>) {
    ReadDoubles(literal.element_type(), literal.data(), literal.element_count(), values.data());
  } else {
    ReadComplexes(literal.element_type(), literal.data(), literal.element_count(), values.data());
  }
  return values;
}

// The array of these values, each rounded once to the element type; int32_t ones as they are.
template <class T>
Literal WriteAll(Shape shape, const std::vector<T>& values) {
  Literal literal(shape);
  if constexpr (std::is_same_v<T, int32_t>) {
    std::copy(values.begin(), values.end(), literal.mutable_values<int32_t>().begin());
  } else if constexpr (std::is_same_v<T, double>) {
    WriteDoubles(shape.element_type(), values.data(), literal.element_count(),
                 literal.mutable_data());
  } else {
    WriteComplexes(shape.element_type(), values.data(), literal.element_count(),
                   literal.mutable_data());
  }
  return literal;
}

}  // namespace hlo
