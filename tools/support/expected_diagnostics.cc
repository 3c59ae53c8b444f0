#include "tools/support/expected_diagnostics.h"

#include <charconv>

#include "absl/status/statusor.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr std::pair<std::string_view, Severity> kKinds[] = {
    {"expected-error", Severity::kError},
    {"expected-warning", Severity::kWarning},
    {"expected-note", Severity::kNote}};

std::string_view Word(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "";
}

// Parses what follows the kind: `@+2 {{text}}`. False when it is malformed.
bool ParseRest(std::string_view rest, int line, ExpectedDiagnostic& out) {
  out.comment_line = line;
  out.line = line;
  if (!rest.empty() && rest[0] == '@') {
    const size_t blank = rest.find_first_of(" {");
    if (blank == std::string_view::npos) return false;
    std::string_view place = rest.substr(1, blank - 1);
    rest.remove_prefix(blank);
    if (place == "unknown") {
      out.line = 0;
    } else {
      const bool relative = !place.empty() && (place[0] == '+' || place[0] == '-');
      const bool negative = !place.empty() && place[0] == '-';
      if (relative) place.remove_prefix(1);
      int number = 0;
      const auto [at, error] = std::from_chars(place.data(), place.data() + place.size(), number);
      if (error != std::errc() || at != place.data() + place.size()) return false;
      out.line = relative ? line + (negative ? -number : number) : number;
    }
  }
  const size_t open = rest.find("{{");
  const size_t close = rest.rfind("}}");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
    return false;
  if (!Trim(rest.substr(0, open)).empty()) return false;
  out.text = std::string(rest.substr(open + 2, close - open - 2));
  return true;
}

}  // namespace

absl::StatusOr<std::vector<ExpectedDiagnostic>> FindExpectedDiagnostics(std::string_view text) {
  std::vector<ExpectedDiagnostic> result;
  int line_number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++line_number;
    const size_t comment = line.find("// expected-");
    if (comment == std::string_view::npos) continue;
    const size_t at = comment + 3;
    for (const auto& [word, severity] : kKinds) {
      if (line.compare(at, word.size(), word) != 0) continue;
      ExpectedDiagnostic expected;
      expected.severity = severity;
      if (!ParseRest(line.substr(at + word.size()), line_number, expected)) {
        return Error("line {}: expected `{}@+N {{{{text}}}}`", line_number, word);
      }
      result.push_back(std::move(expected));
    }
  }
  return result;
}

std::string MismatchedDiagnostics(const Source& source, const absl::Status& status) {
  const absl::StatusOr<std::vector<ExpectedDiagnostic>> expected =
      FindExpectedDiagnostics(source.text());
  if (!expected.ok())
    return fmt::format("{}: error: {}\n", source.name(), ToStd(expected.status().message()));
  std::vector<bool> seen(expected->size(), false);
  std::string out;
  for (const Diagnostic& diagnostic : DiagnosticsOf(status)) {
    const int line = diagnostic.loc.known() ? source.Locate(diagnostic.loc.offset).line : 0;
    bool announced = false;
    for (size_t i = 0; i < expected->size() && !announced; ++i) {
      const ExpectedDiagnostic& candidate = (*expected)[i];
      if (seen[i] || candidate.severity != diagnostic.severity || candidate.line != line) continue;
      if (diagnostic.message.find(candidate.text) == std::string::npos) continue;
      seen[i] = announced = true;
    }
    if (!announced && diagnostic.severity == Severity::kError) {
      out += "unexpected " + Render({diagnostic}, &source);
    }
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
