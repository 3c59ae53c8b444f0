#include "tools/run/donation_check.h"

#include <fmt/format.h>

#include <string>

#include "backends/common/memory_report.h"
#include "lib/support/status.h"

namespace hlo {

absl::Status RequireDonation(const Executable& executable, const BufferPlan& plan) {
  ASSIGN_OR_RETURN(const MemoryReport report, MakeMemoryReport(executable));
  std::string unused;
  const auto add = [&](const std::string& parameter, const std::string& reason) {
    unused += fmt::format("{}{} ({})", unused.empty() ? "" : "; ", parameter, reason);
  };
  for (const AliasUse& alias : report.aliases) {
    if (alias.leaf < plan.donated.size() && plan.donated[alias.leaf] &&
        alias.state != AliasUse::State::kInPlace)
      add(alias.parameter, alias.reason);
  }
  for (const DonorUse& donor : report.donors) add(donor.parameter, donor.reason);
  if (unused.empty()) return absl::OkStatus();
  return Error("`--require-donation`: donated in vain: {}", unused);
}

}  // namespace hlo
