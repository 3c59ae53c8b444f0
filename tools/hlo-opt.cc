// hlo-opt: reads HLO modules, verifies them, runs passes, prints the result. See --help and
// passes/README.md.
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/opt/lists.h"
#include "tools/opt/options.h"
#include "tools/opt/self_check.h"
#include "tools/opt/session.h"
#include "tools/opt/update_checks.h"
#include "tools/support/gpu_target.h"

namespace hlo {
namespace {

int List(std::string_view text) {
  WriteStdout(text);
  return kExitOk;
}

int Main(int argc, char** argv) {
  OptOptions options;
  Flags flags("hlo-opt", "[flags] FILE...",
              "Transforms HLO modules and prints them. FILE `-` is standard input.");
  AddOptFlags(flags, options);
  return ToolMain(flags, argc, argv, [&] {
    if (options.self_test) return SelfTest();
    if (options.list_passes) return List(PassNames());
    if (!options.print_passes.empty()) {
      const absl::StatusOr<std::string> table = PassTable(options.print_passes);
      if (table.ok()) return List(*table);
      WriteStderr("hlo-opt: " + Render(table.status(), nullptr));
      return int{kExitUsage};
    }
    if (options.list_ops) return List(OpTable());
    if (options.list_types) return List(TypeTable());
    if (options.list_stages) {
      const PlatformInfo* platform = FindOptPlatform(options.platform);
      if (platform != nullptr) return List(Join(StageNames(*platform), "\n") + "\n");
    }
    if (options.list_targets) return List(GpuTargetList());
    if (options.list_print_options) return List(PrintFlags::Table());
    if (!options.verbosity.empty() && options.verbosity != "0") {
      for (const std::string& text : flags.unused())
        WriteNote(fmt::format("hlo-opt: note: {}\n", text));
    }
    if (options.update_checks)
      return UpdateChecks(flags.positional(), flags.GivenWords({"update-checks"}));
    return RunHloOpt(flags, options);
  });
}

// By XLA's name `hlo-translate`: HLO text and messages to each other, as hlo-opt does. MLIR, the
// other half of what that program reads and writes, is not spoken here.
int MainAsTranslate(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).find("mlir") == std::string_view::npos) continue;
    ReportToolError("hlo-translate",
                    Unsupported(SourceLoc(),
                                "`{}`: MLIR is neither read nor written here; HLO text and "
                                "messages are (--emit=pb, pbtxt, json or hlo)",
                                argv[i]));
    return kExitUnsupported;
  }
  return Main(argc, argv);
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  return std::string_view(argv[0]).ends_with("hlo-translate") ? hlo::MainAsTranslate(argc, argv)
                                                              : hlo::Main(argc, argv);
}
