#include "lib/support/check.h"

#include <cstdio>
#include <cstdlib>

namespace hlo {
namespace {
void (*check_handler)() = nullptr;
}  // namespace

void SetCheckHandler(void (*handler)()) { check_handler = handler; }

namespace internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal error: check failed: %s\n", file, line, condition);
  std::fflush(stderr);
  if (check_handler != nullptr) check_handler();
  std::abort();
}

}  // namespace internal
}  // namespace hlo
