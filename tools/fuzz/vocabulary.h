// The words of HLO text, from the tables: what the mutator puts in place of another word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

enum class WordKind { kOpcode, kType, kAttribute, kNumber, kOther };

// Sorted by kind; each word once.
const std::vector<std::string>& Words(WordKind kind);
// What kind of word `text` is; kOther when it is in no table (a name).
WordKind KindOf(std::string_view text);

}  // namespace hlo
