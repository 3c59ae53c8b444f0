// Changes inputs at random: bytes, tokens of HLO text, or what a module says (mutate_modules.cc).
// The token mutator needs no valid text; it sees words, numbers, strings, single characters and
// balanced brackets, and knows the words of vocabulary.h.
//
// The same random numbers and inputs give the same result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/fuzz/random.h"

namespace hlo {

// A byte range of a text that the token mutator treats as one.
struct TextToken {
  size_t begin = 0, end = 0;
};
// Words, numbers, quoted strings, single characters; blanks belong to no token.
std::vector<TextToken> Tokenize(std::string_view text);

// `input` with one to eight changes, some of them parts of `other`; at most `max_length` bytes.
std::string Mutate(std::string_view input, std::string_view other, size_t max_length,
                   FuzzRandom& random);

}  // namespace hlo
