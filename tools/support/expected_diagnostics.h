// --verify-diagnostics: errors that a test file announces in comments.
//
//   // expected-error@+1 {{operand `rhs` has shape `f32[8]`}}
//   ROOT s = f32[4] add(x, y)
//
// The text between the braces must occur in the message; `@+N`/`@-N` count lines from the comment,
// without it the error belongs to the comment's line; `@unknown` stands for an error without a
// place. `expected-note` and `expected-warning` work alike. Every announced message must come, and
// every error must be announced (notes need not).
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
  int comment_line = 0;
};

// The announcements in `text`; a malformed one is an error.
absl::StatusOr<std::vector<ExpectedDiagnostic>> FindExpectedDiagnostics(std::string_view text);

// Compares what was announced in `source` with the messages of `status` (may be OK). Empty when
// they agree, else lines to print.
std::string MismatchedDiagnostics(const Source& source, const absl::Status& status);

}  // namespace hlo
