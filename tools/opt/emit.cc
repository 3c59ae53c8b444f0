#include "tools/opt/emit.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lib/proto/proto.h"
#include "lib/support/memory_file.h"
#include "lib/support/run_program.h"
#include "parser/parser.h"
#include "tools/opt/dot.h"
#include "tools/opt/html.h"
#include "tools/opt/svg_graph.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct EmitForm {
  std::string_view word;
  absl::StatusOr<std::string> (*make)(const Module& module, const EmitOptions& options);
};

template <SerialForm form>
absl::StatusOr<std::string> Serialized(const Module& module, const EmitOptions&) {
  return Serialize(module, form, kParseText);
}

template <std::string (*draw)(const Module& module, const NodeColors& colors)>
absl::StatusOr<std::string> Picture(const Module& module, const EmitOptions& options) {
  return draw(module, NodeColors(module, options.color_by));
}

constexpr EmitForm kEmitForms[] = {
    {"hlo",
     [](const Module& module, const EmitOptions& options) -> absl::StatusOr<std::string> {
       return ToText(module, options.print);
     }},
    {"pb", Serialized<SerialForm::kBinary>},
    {"pbtxt", Serialized<SerialForm::kText>},
    {"json", Serialized<SerialForm::kJson>},
    {"dot", Picture<ToDot>},
    {"html", Picture<ToHtml>},
    {"svg", Picture<ToSvg>},
};

}  // namespace

std::vector<std::string_view> EmitWords() {
  std::vector<std::string_view> words;
  for (const EmitForm& form : kEmitForms) words.push_back(form.word);
  return words;
}

absl::StatusOr<std::string> EmitModule(const Module& module, std::string_view emit,
                                       const EmitOptions& options) {
  for (const EmitForm& form : kEmitForms) {
    if (form.word == emit) return form.make(module, options);
  }
  return Internal("`{}` is no form of a module", emit);
}

int EmitStage(const Source& source, std::vector<std::string> words, std::string& text) {
  words.insert(words.begin(), fmt::format("--source-name={}", source.name()));
  return RunTool("hlo-run", source, words, text);
}

int RunTool(std::string_view tool, const Source& source, const std::vector<std::string>& arguments,
            std::string& text) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (own.parent_path() / tool).string();
  if (error || access(program.c_str(), X_OK) != 0) {
    return ReportToolError(
        "hlo-opt", Error("this needs {} beside hlo-opt, but there is no `{}`", tool, program));
  }
  // It reads the text as it is, so that places are those of the file.
  const MemoryFile file(MemoryFile::Inherit::kAcrossExec);
  if (file.descriptor() < 0 || !file.Write(source.text())) {
    return ReportToolError("hlo-opt",
                           Error("cannot make a file in memory: {}", std::strerror(errno)));
  }
  std::vector<std::string> words = {program, fmt::format("/proc/self/fd/{}", file.descriptor())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  absl::StatusOr<ProgramResult> result = RunProgram(words);
  if (!result.ok()) return ReportToolError("hlo-opt", result.status());
  text += result->output;
  return result->end.is_signal ? static_cast<int>(kExitInternal) : result->end.code;
}

}  // namespace hlo
