#include "lib/support/memory_info.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace hlo {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Available memory of the machine, and free swap if wanted.
int64_t OnMachine(bool with_swap) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  int64_t value = 0, sum = 0;
  bool found = false;
  while (file >> name >> value && std::getline(file, unit)) {
    if (name != "MemAvailable:" && (name != "SwapFree:" || !with_swap)) continue;
    sum += value * 1024;
    found = true;
  }
  return found ? sum : kUnlimited;
}

// What the control group of the process leaves of its limit (version 2 of control groups, seen from
// inside a container).
int64_t InGroup() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current"),
      stat_file("/sys/fs/cgroup/memory.stat");
  int64_t limit = 0, used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return kUnlimited;
  // Cached files are given back when memory is short.
  std::string name;
  int64_t value = 0;
  while (stat_file >> name >> value) {
    if (name == "inactive_file") used -= std::min(used, value);
  }
  return std::max<int64_t>(0, limit - used);
}

// What a limit of the process leaves beside `pages` pages in use.
int64_t UnderLimit(int resource, int64_t pages) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return kUnlimited;
  const auto most = static_cast<int64_t>(std::min(limit.rlim_cur, static_cast<rlim_t>(kUnlimited)));
  return std::max<int64_t>(0, most - pages * sysconf(_SC_PAGESIZE));
}

}  // namespace

int64_t AvailableMemory() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, skipped = 0, data = 0;
  if (!(file >> total >> skipped >> skipped >> skipped >> skipped >> data)) total = data = 0;
  return std::min({OnMachine(/*with_swap=*/false), InGroup(), UnderLimit(RLIMIT_AS, total),
                   UnderLimit(RLIMIT_DATA, data)});
}

int64_t MemoryOfMachine() { return std::min(OnMachine(/*with_swap=*/true), InGroup()); }

}  // namespace hlo
