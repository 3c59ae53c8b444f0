// Messages with a place. A Status carries one or more of them as a payload; tools render them once,
// with the Source in hand:
//
//   in.hlo:4:12: error: `y` is declared `f32[8]` but `negate` of `f32[4]` yields `f32[4]`
//     ROOT y = f32[8] negate(x)
//              ^~~~~~
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lib/support/source.h"

namespace hlo {

enum class Severity { kError, kWarning, kNote };

struct Diagnostic {
  Severity severity = Severity::kError;
  SourceLoc loc;
  std::string message;
};

// The messages of a failed status, in order; notes follow the message they belong to. A status
// without located messages gives one without a place.
std::vector<Diagnostic> DiagnosticsOf(const absl::Status& status);

// A status of the same code whose messages are `diagnostics` (not empty). Its plain text is the
// first one's.
absl::Status StatusOf(absl::StatusCode code, const std::vector<Diagnostic>& diagnostics);

// `status` with a note added after its last message.
absl::Status AddNote(const absl::Status& status, SourceLoc loc, std::string_view message);

// `status` with the place `loc` given to a first message that has none.
absl::Status AddLocation(const absl::Status& status, SourceLoc loc);

// `status` with `prefix: ` put before its first message.
absl::Status AddPrefix(const absl::Status& status, std::string_view prefix);

// Renders messages as shown above; `source` may be null (then only the text is printed).
std::string Render(const std::vector<Diagnostic>& diagnostics, const Source* source);
std::string Render(const absl::Status& status, const Source* source);

}  // namespace hlo
