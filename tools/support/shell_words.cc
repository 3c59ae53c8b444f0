#include "tools/support/shell_words.h"

#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<std::vector<std::string>> ShellWords(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\n", kEscapedInQuotes = "\"\\$`";
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;  // the one that is open
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && kBlanks.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    const bool is_last = at + 1 == line.size();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && !is_last &&
               (quote == 0 ||
                (quote == '"' && kEscapedInQuotes.find(line[at + 1]) != std::string_view::npos))) {
      words.back() += line[++at];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return Error("a quote `{}` is not closed in `{}`", quote, line);
  return words;
}

}  // namespace hlo
