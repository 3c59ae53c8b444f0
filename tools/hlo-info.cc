// hlo-info: what there is to know of HLO modules: signature, counts, costs, memory. See --help.
#include "tools/info/options.h"
#include "tools/info/session.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

int Main(int argc, char** argv) {
  Flags flags("hlo-info", "[flags] FILE...",
              "Says what HLO modules are made of and what they cost. FILE `-` is standard input.");
  InfoOptions options;
  AddInfoFlags(flags, options);
  return ToolMain(flags, argc, argv, [&] {
    if (const absl::Status status = CheckInfoFlags(flags, options); !status.ok()) {
      ReportToolError(flags.program(), status);
      return static_cast<int>(kExitUsage);
    }
    return RunInfo(flags, options);
  });
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Main(argc, argv); }
