// --verify-diagnostics: how messages are announced, and what does not agree.
#include "tools/support/expected_diagnostics.h"

#include <catch2/catch.hpp>

#include "lib/support/status.h"

namespace hlo {
namespace {

// The announcements as "line kind text", one a line.
std::string Announced(std::string_view text) {
  const auto found = FindExpectedDiagnostics(text);
  if (!found.ok()) return "malformed";
  std::string out;
  for (const ExpectedDiagnostic& one : *found) {
    const std::string_view kind = one.severity == Severity::kError     ? "error"
                                  : one.severity == Severity::kWarning ? "warning"
                                                                       : "note";
    out += fmt::format("{} {}{} {}\n", one.line, kind, one.is_regex ? "-re" : "", one.text);
  }
  return out;
}

TEST_CASE("the place of an announcement", "[tools][diagnostics]") {
  CHECK(Announced("x // expected-error {{a}}") == "1 error a\n");
  CHECK(Announced("\n\n// expected-error@+1 {{a}}") == "4 error a\n");
  CHECK(Announced("\n\n//expected-note@-2{{a}}") == "1 note a\n");
  CHECK(Announced("// expected-warning @7 {{a}}") == "7 warning a\n");
  CHECK(Announced("// expected-error@unknown {{a}}") == "0 error a\n");
  // Announcements above one another all belong to the line below or above them.
  CHECK(Announced("code\n// expected-error@above {{a}}\n// expected-note@above {{b}}\n"
                  "// expected-error@below {{c}}\n// expected-warning@below {{d}}\ncode\n") ==
        "1 error a\n1 note b\n6 error c\n6 warning d\n");
  // The text may hold braces; other comments are no announcements.
  CHECK(Announced("// expected-error {{ {0}: {{a} }}\n// expected as ever\n// RUN: x\n") ==
        "1 error  {0}: {{a} \n");
}

TEST_CASE("malformed announcements are errors", "[tools][diagnostics]") {
  for (const char* text :
       {"// expected-eror {{a}}", "// expected-error@ {{a}}", "// expected-error@+x {{a}}",
        "// expected-error@abov {{a}}", "// expected-error@-5 {{a}}", "// expected-error {{a}",
        "// expected-error@above {{a}}", "// expected-error-re {{a{{(}}}}", "// expected- {{a}}"}) {
    CAPTURE(text);
    CHECK(Announced(text) == "malformed");
  }
}

absl::Status ErrorAt(uint32_t offset, std::string message) {
  return StatusOf(absl::StatusCode::kInvalidArgument,
                  {{Severity::kError, SourceLoc{offset, 1}, std::move(message)}});
}

TEST_CASE("what was announced must come, and nothing else", "[tools][diagnostics]") {
  const Source announced("t", "// expected-error@+1 {{found 3}}\nx\n");
  CHECK(MismatchedDiagnostics(announced, ErrorAt(33, "found 3 operands")).empty());
  CHECK(MismatchedDiagnostics(announced, absl::OkStatus()) ==
        "t:1: expected error did not come: found 3\n");
  CHECK_THAT(MismatchedDiagnostics(announced, ErrorAt(33, "found 4 operands")),
             Catch::Contains("unexpected t:2:1: error: found 4 operands"));
  CHECK_THAT(MismatchedDiagnostics(announced, ErrorAt(0, "found 3 operands")),
             Catch::Contains("unexpected t:1:1: error"));
  CHECK(MismatchedDiagnostics(Source("t", "x\n"), absl::OkStatus()).empty());
  CHECK_FALSE(MismatchedDiagnostics(Source("t", "x\n"), ErrorAt(0, "a")).empty());
}

TEST_CASE("each announcement covers one message", "[tools][diagnostics]") {
  const absl::Status twice = StatusOf(
      absl::StatusCode::kInvalidArgument,
      {{Severity::kError, SourceLoc{0, 1}, "a"}, {Severity::kError, SourceLoc{0, 1}, "a"}});
  CHECK_FALSE(MismatchedDiagnostics(Source("t", "x // expected-error {{a}}\n"), twice).empty());
  CHECK(MismatchedDiagnostics(
            Source("t", "x\n// expected-error@above {{a}}\n// expected-error@above {{a}}\n"), twice)
            .empty());
}

TEST_CASE("expressions stand in double braces", "[tools][diagnostics]") {
  const Source source("t", "x // expected-error-re {{found {{[0-9]+}} (of {{a|b}})}}\n");
  CHECK(MismatchedDiagnostics(source, ErrorAt(0, "found 12 (of b), alas")).empty());
  CHECK_FALSE(MismatchedDiagnostics(source, ErrorAt(0, "found x (of b)")).empty());
  CHECK_FALSE(MismatchedDiagnostics(source, ErrorAt(0, "found 12 of b")).empty());
}

TEST_CASE("warnings must be announced, notes need not", "[tools][diagnostics]") {
  const std::vector<Diagnostic> warning = {{Severity::kWarning, SourceLoc{0, 1}, "odd"}};
  CHECK_FALSE(MismatchedDiagnostics(Source("t", "x\n"), absl::OkStatus(), warning).empty());
  CHECK(MismatchedDiagnostics(Source("t", "x // expected-warning {{odd}}\n"), absl::OkStatus(),
                              warning)
            .empty());
  CHECK_FALSE(
      MismatchedDiagnostics(Source("t", "x // expected-error {{odd}}\n"), absl::OkStatus(), warning)
          .empty());
  const std::vector<Diagnostic> note = {{Severity::kNote, SourceLoc{0, 1}, "here"}};
  CHECK(MismatchedDiagnostics(Source("t", "x\n"), absl::OkStatus(), note).empty());
}

}  // namespace
}  // namespace hlo
