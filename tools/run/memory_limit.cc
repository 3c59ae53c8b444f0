#include "tools/run/memory_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

namespace hlo {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// Available memory and free swap of the machine, in bytes.
uint64_t Available() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t value = 0, sum = 0;
  bool found = false;
  while (file >> name >> value && std::getline(file, unit)) {
    if (name != "MemAvailable:" && name != "SwapFree:") continue;
    sum += value * 1024;
    found = true;
  }
  return found ? sum : kUnlimited;
}

// What the control group of the process leaves of its limit (version 2 of control groups, seen from
// inside a container).
uint64_t GroupRoom() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current"),
      stat_file("/sys/fs/cgroup/memory.stat");
  uint64_t limit = 0, used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return kUnlimited;
  // Cached files are given back when memory is short.
  std::string name;
  uint64_t value = 0;
  while (stat_file >> name >> value) {
    if (name == "inactive_file") used -= std::min(used, value);
  }
  return limit > used ? limit - used : 0;
}

}  // namespace

void LimitMemory(uint64_t bytes) {
  if (bytes == 0) bytes = std::min(Available(), GroupRoom());
  if (bytes == kUnlimited) return;
  // A floor: programs that need little must not fail because the machine is busy.
  constexpr uint64_t kFloor = 64u << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t wanted = std::max(bytes, kFloor);
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace hlo
