#include "passes/util/option_words.h"

#include <fmt/format.h>

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

absl::Status NoneOf(std::span<const std::string_view> words, const OptionText& text) {
  std::string list;
  for (const std::string_view word : words) {
    if (word.empty()) continue;
    const bool is_last = word.data() == words.back().data();
    list += fmt::format("{}`{}`", list.empty() ? "" : is_last ? " or " : ", ", word);
  }
  return Error(text.loc, "option `{}` expects {}, found `{}`{}", text.name, list, text.value,
               DidYouMean(text.value, words));
}

absl::Status CheckedText(const OptionText& text, const absl::Status& status) {
  return status.ok() ? status
                     : Error(text.loc, "option `{}`: {}", text.name, ToStd(status.message()));
}

}  // namespace hlo
