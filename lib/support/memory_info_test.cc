#include "lib/support/memory_info.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace hlo {

TEST_CASE("a limit of the process bounds what it can get", "[support][memory]") {
  CHECK(AvailableMemory() > 0);
  CHECK(MemoryOfMachine() > 0);
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const pid_t child = fork();
    if (child == 0) {
      constexpr rlim_t kLimit = rlim_t{1} << 40;  // the machine has less, and more is not taken
      const rlimit large = {kLimit, kLimit}, none = {1, kLimit};
      setrlimit(resource, &large);
      if (AvailableMemory() <= 0) _exit(1);
      setrlimit(resource, &none);
      _exit(AvailableMemory() == 0 ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

}  // namespace hlo
