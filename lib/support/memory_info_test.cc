#include "lib/support/memory_info.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "lib/support/child_test_util.h"

namespace hlo {

TEST_CASE("a limit of the process bounds what it can get", "[support][memory]") {
  CHECK(AvailableMemory() > 0);
  CHECK(MemoryOfMachine() > 0);
#ifdef __SANITIZE_ADDRESS__
  return;  // the sanitizer's own memory is beyond such limits
#endif
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const ChildEnd end = EndOfChild([&] {
      constexpr rlim_t kLimit = rlim_t{1} << 40;  // the machine has less, and more is not taken
      const rlimit large = {kLimit, kLimit}, none = {1, kLimit};
      setrlimit(resource, &large);
      if (AvailableMemory() <= 0) return 1;
      setrlimit(resource, &none);
      return AvailableMemory() == 0 ? 0 : 2;
    });
    CHECK(end == ChildEnd{});
  }
}

}  // namespace hlo
