// This machine and what it would be with fewer instruction sets, for the library's tests.
#pragma once

#include <vector>

#include "backends/cpu/library/host.h"

namespace hlo::cpu {

inline std::vector<Host> HostsOfEachLevel() {
  std::vector<Host> hosts;
  const absl::StatusOr<Host> native = DetectHost();
  for (const IsaLevel level :
       {IsaLevel::kSse, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx}) {
    if (native.ok() && level <= native->level) hosts.push_back(*DetectHost(IsaName(level)));
  }
  return hosts;
}

}  // namespace hlo::cpu
