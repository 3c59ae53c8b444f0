// Checks for broken invariants whose continuation would corrupt memory. They print the failed
// condition with its place and abort; everything milder is a Status (status.h).
#pragma once

namespace hlo::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace hlo::internal

namespace hlo {
// Called after the message of a failed check and before aborting; it may end the process in its own
// way.
void SetCheckHandler(void (*handler)());
}  // namespace hlo

// __builtin_FILE, for the preprocessed text shall not depend on where the project lies.
#define HLO_CHECK(condition)    \
  (static_cast<bool>(condition) \
       ? void(0)                \
       : ::hlo::internal::CheckFailed(__builtin_FILE(), __LINE__, #condition))
#ifdef NDEBUG
#define HLO_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define HLO_DCHECK(condition) HLO_CHECK(condition)
#endif
#define HLO_UNREACHABLE() \
  ::hlo::internal::CheckFailed(__builtin_FILE(), __LINE__, "unreachable code")
