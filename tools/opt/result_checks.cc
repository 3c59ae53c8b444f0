#include "tools/opt/result_checks.h"

#include "lib/ir/compare.h"
#include "parser/parser.h"
#include "tools/support/tool_support.h"

namespace hlo {

int CheckRoundtrip(const Module& module, PrintOptions options) {
  options.large_constants = true;
  const auto source = std::make_shared<const Source>("the printed module", ToText(module, options));
  const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(source);
  if (!again.ok()) {
    ReportError(again.status(), source.get());
    return kExitInternal;
  }
  if (ToText(**again, options) == source->text()) return kExitOk;
  WriteStderr("hlo-opt: error: the result reads back as another module\n");
  return kExitInternal;
}

int CheckEqualTo(const std::string& path, bool with_layouts, const Module& module) {
  absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(path, /*split=*/false);
  if (!inputs.ok()) return ReportToolError("hlo-opt", inputs.status());
  const InputText& input = inputs->front();
  const absl::StatusOr<std::unique_ptr<Module>> expected = LoadModule(input);
  if (!expected.ok()) return ReportError(expected.status(), input.source.get());
  CompareOptions compare;
  compare.layout_sensitive = with_layouts;
  if (StructurallyEqual(module, **expected, compare)) return kExitOk;
  WriteStderr(
      fmt::format("hlo-opt: the result differs from the module of {}\n", input.source->name()));
  return kExitMismatch;
}

}  // namespace hlo
