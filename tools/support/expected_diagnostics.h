// --verify-diagnostics: messages that a test file announces in comments.
//
//   // expected-error@+1 {{operand `rhs` has shape `f32[8]`}}
//   ROOT s = f32[4] add(x, y)
//
// What is announced is `expected-error`, `expected-warning` or `expected-note`. The text between
// the braces must occur in the message; with `-re` after the kind it may hold regular expressions
// in double braces: `expected-error-re {{found {{[0-9]+}} operands}}`. The place is the comment's
// own line, or
//
//   @+N, @-N    so many lines below or above the comment
//   @N          line N of the file
//   @above      the nearest line above without an announcement
//   @below      the nearest line below without an announcement
//   @unknown    no place at all
//
// Every announced message must come, and every error and warning must be announced (notes need
// not). A message is announced once for each time that it comes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/support/diagnostic.h"

namespace hlo {

struct ExpectedDiagnostic {
  Severity severity = Severity::kError;
  int line = 0;  // 0: without a place
  std::string text;
  bool is_regex = false;  // `text` is one regular expression
  int comment_line = 0;
};

// The announcements in `text`; a malformed one is an error.
absl::StatusOr<std::vector<ExpectedDiagnostic>> FindExpectedDiagnostics(std::string_view text);

// Compares what was announced in `source` with `warnings` and the messages of `status` (may be OK).
// Empty when they agree, else lines to print.
std::string MismatchedDiagnostics(const Source& source, const absl::Status& status,
                                  const std::vector<Diagnostic>& warnings = {});

}  // namespace hlo
