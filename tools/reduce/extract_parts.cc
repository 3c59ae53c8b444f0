#include "tools/reduce/extract_parts.h"

#include <fmt/format.h>

#include "lib/ir/printer.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/support/extract.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

std::string TextOf(const Module& module) {
  PrintOptions print = PrintOptions::HloOpt();
  print.large_constants = print.lossless = true;
  return ToText(module, print);
}

absl::Status WriteEachFusion(const Module& module, const ReduceOptions& options) {
  RETURN_IF_ERROR(MakeFolder(options.output));
  int64_t count = 0;
  for (const Computation* computation : module.NonFusionComputations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!instruction->IsFusion()) continue;
      const std::unique_ptr<Module> part = module.Clone();
      RETURN_IF_ERROR(Extract(*part, instruction->name(), options.height));
      RETURN_IF_ERROR(
          WriteFile(fmt::format("{}/{}.hlo", options.output, instruction->name()), TextOf(*part)));
      ++count;
    }
  }
  WriteStderr(
      fmt::format("hlo-reduce: {} fusion{} in {}\n", count, count == 1 ? "" : "s", options.output));
  return absl::OkStatus();
}

}  // namespace

bool WantsParts(const ReduceOptions& options) {
  return !options.extract.empty() || options.extract_each_fusion;
}

int ExtractParts(const ReduceOptions& options) {
  const absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(options.input, /*split=*/false);
  if (!inputs.ok()) return ReportToolError("hlo-reduce", inputs.status());
  const Source* const source = inputs->front().source.get();
  absl::StatusOr<std::unique_ptr<Module>> module = LoadModule(inputs->front());
  if (!module.ok()) return ReportError(module.status(), source);
  absl::Status status;
  if (options.extract_each_fusion) {
    status = WriteEachFusion(**module, options);
  } else {
    status = Extract(**module, options.extract, options.height, options.users);
    if (status.ok()) status = WriteFile(options.output, TextOf(**module));
  }
  return status.ok() ? kExitOk : ReportError(status, source);
}

}  // namespace hlo
