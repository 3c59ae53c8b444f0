// hlo-diff: what is different in two modules, names aside. See --help and tools/README.md.
#include <unistd.h>

#include <cstdlib>

#include "lib/support/file.h"
#include "tools/diff/render.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// As diff(1): the module that differs is no failure of the program, and what cannot be read is not
// a difference.
enum DiffExit : int { kSame = 0, kDifferent = 1, kTrouble = 2 };

struct DiffOptions {
  std::string html, json;
  bool brief = false;
  bool names = false, metadata = false;
  bool layouts = true;
  std::string color = "auto";
};

void AddDiffFlags(Flags& flags, DiffOptions& o) {
  using V = FlagValues;
  flags.Example("hlo-diff before.hlo after.hlo", "operations that differ, whatever their names");
  flags.Example("hlo-diff a.hlo b.hlo --html=diff.html", "the same for a browser");
  flags.Group("What counts");
  flags.Add("names", &o.names, "names of instructions and of the module, too");
  flags.Add("metadata", &o.metadata, "metadata, too");
  flags.Add("layouts", &o.layouts, "layouts (default on)");
  flags.Group("What is shown");
  flags.Add("brief", &o.brief, "one line");
  flags.Add("html", &o.html, V::Some(), "FILE", "write a page");
  flags.Add("json", &o.json, V::Some(), "FILE",
            "write all differences for programs; - is standard output");
  flags.Add("color", &o.color, V::Words({"auto", "always", "never"}), "WHEN",
            "auto, always, never; NO_COLOR is respected");
  flags.Group("Exit codes");
  flags.Note("0 the same, 1 different, 2 bad input or usage, 70 internal error");
}

absl::StatusOr<std::unique_ptr<Module>> Load(const std::string& path,
                                             std::shared_ptr<const Source>& source) {
  ASSIGN_OR_RETURN(const std::vector<InputText> inputs, ReadInputs(path, /*split=*/false));
  source = inputs.front().source;
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadModule(inputs.front()));
  if (module->entry() == nullptr)
    return Error("module `{}` has no entry computation", module->name());
  return module;
}

int Trouble(const absl::Status& status, const Source* source) {
  const int code =
      source == nullptr ? ReportToolError("hlo-diff", status) : ReportError(status, source);
  return code == kExitInternal ? code : kTrouble;
}

int Diff(const std::vector<std::string>& paths, const DiffOptions& options) {
  std::vector<std::unique_ptr<Module>> modules;
  for (const std::string& path : paths) {
    std::shared_ptr<const Source> source;
    absl::StatusOr<std::unique_ptr<Module>> module = Load(path, source);
    if (!module.ok()) return Trouble(module.status(), source.get());
    modules.push_back(*std::move(module));
  }
  CompareOptions compare;
  compare.layout_sensitive = options.layouts;
  compare.compare_names = options.names;
  compare.compare_metadata = options.metadata;
  const ModuleDiff diff = DiffModules(*modules[0], *modules[1], compare);
  const DiffNames names{paths[0], paths[1]};
  for (const auto& [path, text] :
       {std::pair(&options.html, &DiffHtml), std::pair(&options.json, &DiffJson)}) {
    if (path->empty()) continue;
    if (const absl::Status status = WriteFile(*path, text(diff, names)); !status.ok())
      return Trouble(status, nullptr);
  }
  const bool has_terminal = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const bool color = options.color == "always" || (options.color == "auto" && has_terminal);
  if (options.brief && !diff.equal) {
    WriteStdout(fmt::format("{} and {} differ\n", paths[0], paths[1]));
  } else if (options.json != "-") {
    WriteStdout(DiffText(diff, names, color));
  }
  return diff.equal ? kSame : kDifferent;
}

int Main(int argc, char** argv) {
  DiffOptions options;
  Flags flags("hlo-diff", "[flags] FILE FILE",
              "Says in which operations two HLO modules differ, names aside.");
  AddDiffFlags(flags, options);
  return ToolMain(flags, argc, argv, [&] {
    if (flags.positional().size() != 2) {
      ReportToolError("hlo-diff", Error("two files are expected, found {}; see --help",
                                        flags.positional().size()));
      return int{kTrouble};
    }
    return Diff(flags.positional(), options);
  });
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Main(argc, argv); }
