// Makers and macros for absl::Status. Two kinds of failure, two makers:
//   Error(loc, "…", args)   what the user can cause; carries a place in the user's text
//   Internal("…", args)     a broken invariant of ours; carries the place in our source
#pragma once

#include <fmt/core.h>

#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/support/source.h"

namespace hlo {

// A format string together with the place that wrote it.
template <class... Args>
struct LocatedFormat {
  fmt::format_string<Args...> format;
  std::source_location where;
  template <class S>
  consteval LocatedFormat(const S& text, std::source_location at = std::source_location::current())
      : format(text), where(at) {}
};

// InvalidArgument with a place in the user's text.
absl::Status MakeError(SourceLoc loc, std::string message);
// As MakeError, with another status code (kUnimplemented: valid HLO that we cannot handle yet).
absl::Status MakeError(absl::StatusCode code, SourceLoc loc, std::string message);
absl::Status MakeInternal(std::source_location where, std::string message);

template <class... Args>
absl::Status Error(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(loc, fmt::format(format, std::forward<Args>(args)...));
}

// An error without a place; a caller that knows it adds it with AddLocation (diagnostic.h).
template <class... Args>
absl::Status Error(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(SourceLoc(), fmt::format(format, std::forward<Args>(args)...));
}

// Valid HLO which this part of the project does not handle yet (exit code 5).
template <class... Args>
absl::Status Unsupported(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(absl::StatusCode::kUnimplemented, loc,
                   fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
absl::Status Internal(LocatedFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  return MakeInternal(format.where, fmt::format(format.format, std::forward<Args>(args)...));
}

}  // namespace hlo

#define HLO_CONCAT_INNER(a, b) a##b
#define HLO_CONCAT(a, b) HLO_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                 \
  do {                                                              \
    if (absl::Status hlo_status = (expression); !hlo_status.ok()) { \
      return hlo_status;                                            \
    }                                                               \
  } while (false)

#define HLO_ASSIGN_OR_RETURN_IMPL(temporary, declaration, ...) \
  auto temporary = (__VA_ARGS__);                              \
  if (!temporary.ok()) return std::move(temporary).status();   \
  declaration = *std::move(temporary)

#define ASSIGN_OR_RETURN(declaration, ...) \
  HLO_ASSIGN_OR_RETURN_IMPL(HLO_CONCAT(hlo_status_or_, __LINE__), declaration, __VA_ARGS__)

// Returns Internal when an invariant does not hold: RET_CHECK(a == b, "`{}` lost its root", name).
#define RET_CHECK(condition, ...)                          \
  do {                                                     \
    if (!(condition)) return ::hlo::Internal(__VA_ARGS__); \
  } while (false)
