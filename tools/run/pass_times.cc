#include "tools/run/pass_times.h"

#include <fmt/format.h>

#include "tools/run/bench.h"

namespace hlo {

void PassTimes::Attach(Instrumentation& instrumentation) {
  instrumentation.before_pass = [this](const PipelineItem&, const Module&) {
    started_ = Now();
    return absl::OkStatus();
  };
  instrumentation.after_pass = [this](const PipelineItem& pass, const Module&, bool changed) {
    PassRun& run = result_.runs.emplace_back();
    run.name = pass.name;
    run.milliseconds = Now() - started_;
    run.changed = changed;
    return absl::OkStatus();
  };
}

std::string PassTimes::Table(const CompileStats& stats) const {
  const CodegenTimes& codegen = stats.codegen;
  const double all = stats.passes_ms + stats.verify_ms + stats.codegen_ms + stats.load_ms;
  std::string text = TimeTable(result_);
  const std::pair<const char*, double> steps[] = {
      {"passes", stats.passes_ms},     {"verify", stats.verify_ms}, {"buffers", codegen.buffers_ms},
      {"kernels", codegen.kernels_ms}, {"llvm", codegen.llvm_ms},   {"link", codegen.link_ms},
      {"load", stats.load_ms},         {"compilation", all},
  };
  text += fmt::format("{:>12}{:>8}   step\n", "time (ms)", "%");
  for (const auto& [name, milliseconds] : steps) {
    text += fmt::format("{:>12.3f}{:>7.1f}%   {}\n", milliseconds,
                        all > 0 ? 100 * milliseconds / all : 0.0, name);
  }
  return text;
}

}  // namespace hlo
