// The forms in which hlo-opt shows a module: --emit, --stage.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/ir/printer.h"
#include "lib/support/source.h"

namespace hlo {

// The words of --emit.
std::vector<std::string_view> EmitWords();
struct EmitOptions {
  PrintOptions print;                  // of hlo
  std::string_view color_by = "kind";  // of pictures: node_colors.h
};
// The module in the form of the word `emit`.
absl::StatusOr<std::string> EmitModule(const Module& module, std::string_view emit,
                                       const EmitOptions& options);

// What hlo-run, which has the back ends, shows of the text when it is given `words`; hlo-run writes
// what is wrong, with the places of `source`. The exit code; `text` gets the result.
int EmitStage(const Source& source, std::vector<std::string> words, std::string& text);

// The same for any of the tools.
int RunTool(std::string_view tool, const Source& source, const std::vector<std::string>& arguments,
            std::string& text);

}  // namespace hlo
