// Whether a list holds a value: arrays, vectors and the like, front to back.
#pragma once

#include <algorithm>
#include <iterator>

namespace hlo {

template <class List, class Value>
constexpr bool Contains(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

}  // namespace hlo
