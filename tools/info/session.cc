#include "tools/info/session.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "lib/ir/compare.h"
#include "lib/support/crash_context.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/info/neighbours.h"
#include "tools/info/render.h"
#include "tools/info/sections.h"
#include "tools/support/extract.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// Of one text, by --filter: std::regex recurses with the length of what it looks at.
constexpr size_t kMostMatched = 4096;

class Session {
 public:
  Session(const Flags& flags, const InfoOptions& options) : flags_(flags), options_(options) {
    if (!options.filter.empty()) filter_.emplace(options.filter);
  }

  int Run() {
    std::vector<std::string> paths = flags_.positional();
    if (paths.empty()) {
      if (isatty(STDIN_FILENO) != 0) {
        ReportToolError(flags_.program(),
                        Error("no input; give a file, or `-` for standard input (see --help)"));
        return kExitUsage;
      }
      paths.push_back("-");
    }
    int exit_code = kExitOk;
    for (const std::string& path : paths) exit_code = Worse(exit_code, RunFile(path));
    return Worse(exit_code, Write(exit_code));
  }

 private:
  int RunFile(const std::string& path) {
    const absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(path, options_.split);
    if (!inputs.ok()) return ReportToolError(flags_.program(), inputs.status());
    int exit_code = kExitOk;
    for (const InputText& input : *inputs) {
      const CrashLine line("working on", input.source->name());
      const absl::Status status = RunModule(input);
      if (!status.ok()) exit_code = Worse(exit_code, ReportError(status, input.source.get()));
    }
    return exit_code;
  }

  absl::Status RunModule(const InputText& input) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadModule(input));
    if (module->entry() == nullptr)
      return Error("module `{}` has no entry computation", module->name());
    module->Sweep();  // what is known by number stays true
    if (!options_.extract.empty()) {
      RETURN_IF_ERROR(Extract(*module, options_.extract, options_.producers));
      PrintOptions whole = PrintOptions::Default();
      whole.large_constants = whole.lossless = true;
      text_ += (text_.empty() ? "" : "\n") + ToText(*module, whole);
      return absl::OkStatus();
    }
    if (options_.fingerprint) {
      text_ += fmt::format("{:016x}  {}\n", ContentHash(*module), input.source->name());
      return absl::OkStatus();
    }
    if (options_.looks_around()) {
      ASSIGN_OR_RETURN(const std::string lines, LookAround(*module));
      text_ += (text_.empty() ? "" : "\n") + lines;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(ModuleReport report, ReportOn(*module));
    report.file = input.source->name();
    reports_.push_back(std::move(report));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> LookAround(const Module& module) const {
    if (!options_.stack.empty()) return StackText(module, options_.stack);
    if (!options_.paths.empty()) {
      const size_t comma = options_.paths.find(',');
      return PathsText(module, options_.paths.substr(0, comma), options_.paths.substr(comma + 1));
    }
    return AroundText(module, options_.around,
                      {options_.depth, !options_.only_users, !options_.only_operands});
  }

  absl::StatusOr<ModuleReport> ReportOn(Module& module) const {
    ModuleFacts facts(module, RatesOf(options_.platform));
    ModuleReport report;
    report.module = module.name();
    for (const SectionKind& kind : AllSectionKinds()) {
      if (!IsShown(kind)) continue;
      ASSIGN_OR_RETURN(Section section, kind.make(facts));
      if (filter_) section.KeepRows([this](const std::vector<Datum>& row) { return Matches(row); });
      if (options_.top > 0) section.KeepTop(static_cast<size_t>(options_.top));
      report.sections.push_back(std::move(section));
    }
    return report;
  }

  bool IsShown(const SectionKind& kind) const {
    if (options_.show.empty()) return kind.is_default;
    for (const std::string_view name : Split(options_.show, ',')) {
      if (Trim(name) == kind.name || Trim(name) == "all") return true;
    }
    return false;
  }

  bool Matches(const std::vector<Datum>& row) const {
    return std::any_of(row.begin(), row.end(), [this](const Datum& datum) {
      const auto* const text = std::get_if<std::string>(&datum.content());
      return text != nullptr && std::regex_search(text->substr(0, kMostMatched), *filter_);
    });
  }

  // To standard output what there is; a file only when everything went well.
  int Write(int exit_code) {
    if (options_.output != "-" && exit_code != kExitOk) {
      WriteNote(fmt::format("note: {} was not written\n", options_.output));
      return kExitOk;
    }
    if (options_.json) {
      text_ = ToJson(reports_);
    } else if (options_.csv) {
      text_ = ToCsv(reports_);
    } else {
      text_ += Text();
    }
    if (options_.output == "-") {
      WriteStdout(text_);
      return kExitOk;
    }
    const absl::Status status = WriteFile(options_.output, text_);
    return status.ok() ? kExitOk : ReportToolError(flags_.program(), status);
  }

  std::string Text() const {
    const TextOptions how{options_.exact, /*all=*/!options_.show.empty()};
    const bool has_facts_alone = reports_.size() > 1 && reports_.front().sections.size() == 1 &&
                                 reports_.front().sections.front().columns().empty();
    if (has_facts_alone) return ToTable(reports_, how);
    std::string text;
    for (const ModuleReport& report : reports_)
      text += (text.empty() ? "" : "\n\n") + ToText(report, how);
    return text;
  }

  const Flags& flags_;
  const InfoOptions& options_;
  std::optional<std::regex> filter_;
  std::vector<ModuleReport> reports_;
  std::string text_;
};

}  // namespace

int RunInfo(const Flags& flags, const InfoOptions& options) {
  return Session(flags, options).Run();
}

}  // namespace hlo
