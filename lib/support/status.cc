#include "lib/support/status.h"

#include "lib/support/clip.h"
#include "lib/support/diagnostic.h"

namespace hlo {

absl::Status MakeError(SourceLoc loc, std::string message) {
  return MakeError(absl::StatusCode::kInvalidArgument, loc, std::move(message));
}

absl::Status MakeError(absl::StatusCode code, SourceLoc loc, std::string message) {
  return StatusOf(code, {Diagnostic{Severity::kError, loc, ClipQuotes(std::move(message))}});
}

absl::Status MakeInternal(std::source_location where, std::string message) {
  std::string_view file = where.file_name();
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file = file.substr(slash + 1);
  return StatusOf(
      absl::StatusCode::kInternal,
      {Diagnostic{Severity::kError,
                  {},
                  fmt::format("internal error at {}:{}: {}", file, where.line(), message)}});
}

}  // namespace hlo
