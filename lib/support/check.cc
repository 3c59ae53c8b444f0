#include "lib/support/check.h"

#include <cstdio>
#include <cstdlib>

namespace hlo::internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal error: check failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace hlo::internal
