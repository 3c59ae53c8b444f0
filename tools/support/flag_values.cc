#include "tools/support/flag_values.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "lib/support/diagnostic.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

std::string NoWord(const std::string& word, const std::vector<std::string_view>& words) {
  for (const std::string_view known : words) {
    if (known == word) return "";
  }
  return fmt::format("expects {}, found `{}`{}", Join(words, ", "), word, DidYouMean(word, words));
}

}  // namespace

std::string MistakeOf(const absl::Status& status) {
  return status.ok() ? "" : ": " + DiagnosticsOf(status).front().message;
}

FlagValues FlagValues::Any() {
  return FlagValues([](const std::string&) { return std::string(); });
}

FlagValues FlagValues::Some() {
  return FlagValues(
      [](const std::string& value) { return value.empty() ? "needs a value" : std::string(); });
}

FlagValues FlagValues::Words(std::vector<std::string_view> words) {
  return FlagValues([words = std::move(words)](const std::string& v) { return NoWord(v, words); });
}

FlagValues FlagValues::ListOf(std::vector<std::string_view> words) {
  return FlagValues([words = std::move(words)](const std::string& value) {
    for (const std::string_view word : Split(value, ',')) {
      if (std::string mistake = NoWord(std::string(Trim(word)), words); !mistake.empty())
        return mistake;
    }
    return std::string();
  });
}

FlagValues FlagValues::Regex() {
  return FlagValues([](const std::string& value) {
    try {
      if (value.empty()) return std::string("needs a value");
      static_cast<void>(std::regex(value));
      return std::string();
    } catch (const std::regex_error& e) {
      return fmt::format("expects a regular expression, found `{}`: {}", value, e.what());
    }
  });
}

FlagValues FlagValues::Passing(Test test) { return FlagValues(std::move(test)); }

FlagValues FlagValues::Passing(std::string_view what,
                               std::function<bool(const std::string&)> test) {
  return FlagValues([what, test = std::move(test)](const std::string& value) {
    return test(value) ? std::string() : fmt::format("expects {}, found `{}`", what, value);
  });
}

FlagValues FlagValues::Names(std::function<absl::Status(std::string_view name)> test) {
  return FlagValues([test = std::move(test)](const std::string& value) {
    if (value.empty()) return std::string("needs a value");
    for (const std::string_view name : Split(value, ',')) {
      if (Trim(name).empty()) continue;
      const absl::Status status = test(Trim(name));
      if (std::string mistake = MistakeOf(status); !mistake.empty()) return mistake;
    }
    return std::string();
  });
}

FlagValues FlagValues::From(double least) {
  return Between(least, std::numeric_limits<double>::infinity());
}

FlagValues FlagValues::Between(double least, double most) {
  return FlagValues([least, most](const std::string& value) {
    const double number = std::strtod(value.c_str(), nullptr);  // whole: read as a number before
    if (std::isfinite(number) && number >= least && number <= most) return std::string();
    const std::string what = std::isfinite(most) ? fmt::format("{} to {}", least, most)
                             : least == 0        ? "a number that is not negative"
                                                 : fmt::format("at least {}", least);
    return fmt::format("expects {}, found `{}`", what, value);
  });
}

FlagValues FlagValues::With(std::vector<std::string_view> others) && {
  with_ = std::move(others);
  return std::move(*this);
}

uint64_t BytesOf(std::string_view text) {
  double factor = 1;
  constexpr std::string_view kSuffixes = "KMGT";
  if (text.empty()) return 0;
  if (const size_t at = kSuffixes.find(text.back()); at != std::string_view::npos) {
    factor = std::ldexp(1.0, 10 * static_cast<int>(at + 1));
    text.remove_suffix(1);
  }
  constexpr double kMost = 1ull << 62;
  const double bytes = ReadNumber<double>(text).value_or(0) * factor;
  return bytes >= 1 && bytes <= kMost ? static_cast<uint64_t>(bytes) : 0;
}

}  // namespace hlo
