// One change of a text at random, for mutate.cc and mutate_modules.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/fuzz/mutate.h"
#include "tools/fuzz/random.h"

namespace hlo {

// What one change works on.
struct Change {
  std::string& text;
  std::string_view other;
  FuzzRandom& random;
  size_t max_length;

  void Replace(size_t begin, size_t end, std::string_view with) {
    const std::string copy(with);  // may be a part of text
    if (text.size() - (end - begin) + copy.size() <= max_length)
      text.replace(begin, end - begin, copy);
  }
  std::string_view Part(size_t begin, size_t end) const {
    return std::string_view(text).substr(begin, end - begin);
  }
};

using Mutator = void (*)(Change&);

// A line, with its end; empty when there is none.
TextToken RandomLine(std::string_view text, FuzzRandom& random);

// Changes of what a module says that often leave it valid.
const std::vector<Mutator>& ModuleMutators();

}  // namespace hlo
