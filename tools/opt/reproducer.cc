#include "tools/opt/reproducer.h"

#include <fmt/core.h>
#include <unistd.h>

#include "lib/ir/printer.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "tools/support/tool_support.h"
#include "tools/support/xla_flags.h"

namespace hlo {
namespace {

constexpr std::string_view kMark = "// hlo-opt reproducer: ";

}  // namespace

std::string WriteReproducer(const Module& module, std::string_view pass, std::string_view flags) {
  const std::string path =
      fmt::format("{}/hlo-opt.{}.{}.repro.hlo", ReproducerFolder(), pass, getpid());
  if (const absl::Status status = WriteFile(path, ReproducerText(module, flags)); !status.ok()) {
    return fmt::format("note: no file repeats this: {}; HLO_REPRO_DIR names another folder\n",
                       DiagnosticsOf(status).front().message);
  }
  return fmt::format("note: `hlo-opt {}` repeats this\n", path);
}

std::string ReproducerHead(std::string_view flags) { return fmt::format("{}{}\n", kMark, flags); }

std::string ReproducerText(const Module& module, std::string_view flags) {
  PrintOptions whole = PrintOptions::Default();
  whole.large_constants = true;
  whole.lossless = true;
  return fmt::format("{}// RUN: hlo-opt %s {}\n{}", ReproducerHead(flags), flags,
                     ToText(module, whole));
}

std::optional<std::vector<std::string>> ReproducerFlags(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  const std::string_view line = text.substr(0, text.find('\n'));
  return WordsOf(line.substr(kMark.size()));
}

}  // namespace hlo
