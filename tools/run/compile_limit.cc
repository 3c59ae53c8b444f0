#include "tools/run/compile_limit.h"

#include <algorithm>

#include "tools/run/bench.h"
#include "tools/support/time_limit.h"

namespace hlo {

void CompileLimit::Start() {
  constexpr double kLeast = 1e-3;  // 0 would be no limit
  if (seconds_ <= 0) return;
  started_ms_ = Now();
  StartTimeLimit(std::max(seconds_ - used_ms_ / 1e3, kLeast), "hlo-run", AtLimit::kReproduces);
}

void CompileLimit::Stop() {
  if (seconds_ <= 0) return;
  StopTimeLimit();
  used_ms_ += Now() - started_ms_;
}

}  // namespace hlo
