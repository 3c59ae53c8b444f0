#include "tools/run/refusals.h"

#include <string_view>
#include <utility>

#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"

namespace hlo {

bool Feeds(const Module& module) {
  return AnyInstruction(
      module, [](const Instruction& instruction) { return kFeeds.Has(instruction.opcode()); });
}

absl::Status RefuseOneDeviceFlags(const ToolOptions& options, const Module& module,
                                  int64_t devices) {
  const std::pair<bool, std::string_view> kinds[] = {
      {options.first_nan || !options.probe.empty() || !options.isolate.empty(),
       "the values inside are those of"},
      {!options.reference_command.empty(), "a --reference that is a command is asked for"},
  };
  for (const auto& [is_given, what] : kinds) {
    if (!is_given) continue;
    return Unsupported(SourceLoc(), "{} one device, but module `{}` runs on {}", what,
                       module.name(), devices);
  }
  return absl::OkStatus();
}

absl::Status RefuseOneProcessFlags(const ToolOptions& options, bool feeds) {
  const std::pair<bool, std::string_view> kinds[] = {
      {options.uses_buffers(), "--donate and --feed are for"},
      {options.bench || options.iterations > 0, "--bench and --iterations measure"},
      {!options.trace.empty(), "--trace shows"},
      {!options.profile_files.empty(), "--profile times"},
      {feeds, "infeed and outfeed are for"},
  };
  for (const auto& [is_given, what] : kinds) {
    if (is_given) return Unsupported(SourceLoc(), "{} one process, not --distributed ones", what);
  }
  return absl::OkStatus();
}

}  // namespace hlo
