#include "tools/run/xla_pass_flags.h"

#include <fmt/format.h>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/support/pass_names.h"
#include "tools/support/tool_support.h"
#include "tools/support/xla_flags.h"

namespace hlo {

absl::StatusOr<XlaPassFlags> XlaPassFlags::Make(const ToolOptions& options, const Module& module) {
  XlaPassFlags flags;
  Instrumentation& in = flags.instrumentation_;
  in.disabled = KnownPassNames(options.xla_disable, "hlo-run", "xla_disable_hlo_passes");
  in.only = KnownPassNames(options.xla_only, "hlo-run", "xla_enable_hlo_passes_only");
  if (options.xla_disable_all) in.bisect_limit = 0;
  if (options.xla_dump_to.empty()) return flags;
  RETURN_IF_ERROR(MakeFolder(options.xla_dump_to));
  if (!options.xla_dump_pass_re.empty()) {
    in.dump_directory = options.xla_dump_to;
    in.dump_pass_regex = options.xla_dump_pass_re;
  }
  flags.prefix_ = fmt::format("{}/module_0000.{}", options.xla_dump_to, module.name());
  RETURN_IF_ERROR(
      WriteFile(flags.prefix_ + ".debug_options", DebugOptionsText(options.given_to_xla)));
  return flags;
}

absl::Status XlaPassFlags::Dump(const Module& module, std::string_view suffix) const {
  if (prefix_.empty()) return absl::OkStatus();
  return WriteFile(fmt::format("{}.{}.txt", prefix_, suffix), ToText(module));
}

}  // namespace hlo
