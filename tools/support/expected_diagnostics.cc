#include "tools/support/expected_diagnostics.h"

#include <algorithm>
#include <optional>
#include <regex>

#include "absl/status/statusor.h"
#include "lib/support/read_number.h"
#include "lib/support/severity_word.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr std::string_view kPrefix = "expected-";
constexpr Severity kSeverities[] = {Severity::kError, Severity::kWarning, Severity::kNote};

// Takes `word` off the front of `text`.
bool TakeFront(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// A regular expression for `text`, in which only what stands in double braces is one.
std::string RegexOf(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find("{{");
    for (const char c : text.substr(0, open)) {
      if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
    if (open == std::string_view::npos) break;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos) break;
    out += fmt::format("(?:{})", text.substr(open + 2, close - open - 2));
    text.remove_prefix(close + 2);
  }
  return out;
}

// std::regex reports malformed expressions by exceptions; they end here.
std::optional<bool> Matches(const std::string& text, const std::string& regex) {
  try {
    return std::regex_search(text, std::regex(regex));
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

// The announcement on a line: what follows `// expected-`. Empty when there is none.
std::string_view AnnouncementOn(std::string_view line) {
  for (size_t at = line.find("//"); at != std::string_view::npos; at = line.find("//", at + 2)) {
    std::string_view rest = Trim(line.substr(at + 2));
    if (TakeFront(rest, kPrefix) && rest.find("{{") != std::string_view::npos) return rest;
  }
  return {};
}

class Finder {
 public:
  explicit Finder(std::string_view text) : lines_(Split(text, '\n')) {
    for (const std::string_view line : lines_) announcements_.push_back(AnnouncementOn(line));
  }

  absl::StatusOr<std::vector<ExpectedDiagnostic>> Run() {
    std::vector<ExpectedDiagnostic> result;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (announcements_[i].empty()) continue;
      ExpectedDiagnostic expected;
      if (!Parse(announcements_[i], static_cast<int>(i) + 1, expected)) {
        return Error(
            "line {}: expected `// expected-error@+1 {{{{text}}}}` (or warning, note; @-N, @above, "
            "@below, @unknown; -re), found `// expected-{}`",
            i + 1, announcements_[i]);
      }
      if (expected.is_regex && !Matches("", expected.text).has_value())
        return Error("line {}: a malformed regular expression: {}", i + 1, announcements_[i]);
      result.push_back(std::move(expected));
    }
    return result;
  }

 private:
  // Parses `error-re@+2 {{text}}`. False when it is malformed.
  bool Parse(std::string_view rest, int line, ExpectedDiagnostic& out) const {
    out.comment_line = line;
    bool known = false;
    for (const Severity severity : kSeverities) {
      if (known || !TakeFront(rest, Word(severity))) continue;
      known = true;
      out.severity = severity;
    }
    if (!known) return false;
    out.is_regex = TakeFront(rest, "-re");
    rest = Trim(rest);
    out.line = line;
    if (TakeFront(rest, "@")) {
      const size_t end = std::min(rest.find_first_of(" \t{"), rest.size());
      if (!ParsePlace(rest.substr(0, end), line, out.line)) return false;
      rest = Trim(rest.substr(end));
    }
    if (!TakeFront(rest, "{{")) return false;
    const size_t close = rest.rfind("}}");
    if (close == std::string_view::npos) return false;
    const std::string_view text = rest.substr(0, close);
    out.text = out.is_regex ? RegexOf(text) : std::string(text);
    return true;
  }

  bool ParsePlace(std::string_view place, int line, int& out) const {
    if (place == "unknown") return out = 0, true;
    if (place == "above" || place == "below") {
      const int step = place == "above" ? -1 : 1;
      for (out = line + step; out >= 1 && out <= static_cast<int>(lines_.size()); out += step) {
        if (announcements_[static_cast<size_t>(out) - 1].empty()) return true;
      }
      return false;
    }
    const bool negative = place.starts_with("-");
    const bool relative = TakeFront(place, "+") || TakeFront(place, "-");
    const std::optional<int> number = ReadNumber<int>(place);
    if (!number) return false;
    out = relative ? line + (negative ? -*number : *number) : *number;
    return out >= 1;
  }

  std::vector<std::string_view> lines_;
  std::vector<std::string_view> announcements_;
};

bool Announces(const ExpectedDiagnostic& expected, const Diagnostic& diagnostic, int line) {
  if (expected.severity != diagnostic.severity || expected.line != line) return false;
  if (!expected.is_regex) return diagnostic.message.find(expected.text) != std::string::npos;
  return Matches(diagnostic.message, expected.text).value_or(false);
}

}  // namespace

absl::StatusOr<std::vector<ExpectedDiagnostic>> FindExpectedDiagnostics(std::string_view text) {
  return Finder(text).Run();
}

std::string MismatchedDiagnostics(const Source& source, const absl::Status& status,
                                  const std::vector<Diagnostic>& warnings) {
  const absl::StatusOr<std::vector<ExpectedDiagnostic>> expected =
      FindExpectedDiagnostics(source.text());
  if (!expected.ok())
    return fmt::format("{}: error: {}\n", source.name(), ToStd(expected.status().message()));
  std::vector<bool> seen(expected->size(), false);
  std::string out;
  std::vector<Diagnostic> diagnostics = warnings;
  if (!status.ok()) {
    for (Diagnostic& diagnostic : DiagnosticsOf(status))
      diagnostics.push_back(std::move(diagnostic));
  }
  for (const Diagnostic& diagnostic : diagnostics) {
    const int line = diagnostic.loc.known() ? source.Locate(diagnostic.loc.offset).line : 0;
    bool announced = false;
    for (size_t i = 0; i < expected->size() && !announced; ++i) {
      if (!seen[i] && Announces((*expected)[i], diagnostic, line)) seen[i] = announced = true;
    }
    if (!announced && diagnostic.severity != Severity::kNote)
      out += "unexpected " + Render({diagnostic}, &source);
  }
  for (size_t i = 0; i < expected->size(); ++i) {
    if (seen[i]) continue;
    const ExpectedDiagnostic& missing = (*expected)[i];
    out += fmt::format("{}:{}: expected {} did not come: {}\n", source.name(), missing.comment_line,
                       Word(missing.severity), missing.text);
  }
  return out;
}

}  // namespace hlo
