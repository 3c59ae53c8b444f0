#include "tools/opt/lists.h"

#include <algorithm>
#include <regex>
#include <vector>

#include "lib/ops/ops.h"
#include "lib/support/strings.h"
#include "lib/types/element_type.h"
#include "passes/pipeline.h"
#include "passes/pipelines.h"
#include "passes/registry.h"

namespace hlo {
namespace {

constexpr PlatformInfo kTransforms = {"transforms",     "", "",
                                      Denormals::kKeep, "", "no platform: the module as it is"};

constexpr StageInfo kStages[] = {
    {"hlo", "hlo", ""},
    {"html", "html", ""},
    {"hlo-backend", "", "hlo"},
    {"buffer-assignment", "", "buffers"},
    {"thunks", "", "thunks"},
    {"tile", "", "tile"},
    {"llvm", "", "llvm"},
    {"llvm-before-optimizations", "", "llvm"},
    {"llvm-after-optimizations", "", "llvm"},
    {"asm", "", "asm"},
    {"ptx", "", "ptx", "// GPU Executable"},
    {"sass", "", "sass"},
    {"kernels", "", "kernels"},
};
// Of platforms that run no passes of their own.
constexpr StageInfo kUnchanged = {"hlo-backend", "hlo", ""};

bool NamesOne(const Pipeline& pipeline, std::string_view pass) {
  return std::any_of(pipeline.begin(), pipeline.end(), [&](const PipelineItem& item) {
    return item.name == pass || NamesOne(item.children, pass);
  });
}

}  // namespace

std::string PassNames() {
  std::vector<std::string_view> names;
  for (const PassInfo& info : AllPasses()) names.push_back(info.name);
  return Join(names, ",") + "\n";
}

namespace {

// The pipelines that have a step of this pass, by name.
std::string PipelinesWith(std::string_view pass) {
  std::string names;
  for (const NamedPipeline& pipeline : AllPipelines()) {
    const absl::StatusOr<Pipeline> items = ParsePipeline(pipeline.Text());
    if (items.ok() && NamesOne(*items, pass))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", pipeline.name);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::string> PassTable(const std::string& pattern) {
  std::regex regex;
  try {
    regex = std::regex(pattern);
  } catch (const std::regex_error& error) {
    return Error("`--print-passes` expects a regular expression, found `{}`: {}", pattern,
                 error.what());
  }
  const auto is_asked = [&](std::string_view name) {
    return std::regex_search(name.begin(), name.end(), regex);
  };
  std::string out;
  std::vector<std::string_view> names;
  for (const PassInfo& info : AllPasses()) {
    names.push_back(info.name);
    if (!is_asked(info.name)) continue;
    out += fmt::format("{:<32} {:<13} {}\n", info.name, Text(info.group), info.summary);
    for (const OptionInfo& option : info.options()) {
      out += fmt::format(
          "    {}=<{}>{}\n", option.name, option.type,
          option.default_value.empty() ? "" : fmt::format(" (default {})", option.default_value));
    }
    if (const std::string pipelines = PipelinesWith(info.name); !pipelines.empty())
      out += fmt::format("    part of {}\n", pipelines);
  }
  for (const NamedPipeline& pipeline : AllPipelines()) {
    names.push_back(pipeline.name);
    if (!is_asked(pipeline.name)) continue;
    out += fmt::format("{:<32} {:<13} {}\n    {}\n", pipeline.name, "pipeline", pipeline.summary,
                       pipeline.Text());
  }
  if (out.empty()) return Error("no pass matches `{}`{}", pattern, DidYouMean(pattern, names));
  return out;
}

std::string OpTable() {
  std::string out;
  for (const OpInfo& info : AllOpInfos()) {
    std::string operands;
    for (int i = 0; i < info.operands.name_count; ++i) {
      operands +=
          fmt::format("{}{}", i == 0 ? "" : ", ", info.operands.names[static_cast<size_t>(i)]);
    }
    if (info.operands.max < 0) operands += ", …";
    out += fmt::format("{:<26}{:<50} {}\n", info.text, "(" + operands + ")", info.summary);
  }
  return out;
}

std::string TypeTable() {
  std::string out = fmt::format("{:<12} {:>5}  {}\n", "type", "bits", "kind");
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    const std::string_view kind = IsPred(type)       ? "truth value"
                                  : IsComplex(type)  ? "complex number"
                                  : IsFloat(type)    ? "floating-point number"
                                  : IsSigned(type)   ? "signed integer"
                                  : IsUnsigned(type) ? "unsigned integer"
                                                     : "no array";
    const int bits =
        IsPred(type) || IsComplex(type) || IsFloat(type) || IsSigned(type) || IsUnsigned(type)
            ? BitWidth(type)
            : 0;
    out +=
        fmt::format("{:<12} {:>5}  {}\n", Text(type), bits == 0 ? "-" : std::to_string(bits), kind);
  }
  return out;
}

const PlatformInfo* FindOptPlatform(std::string_view name) {
  return name == kTransforms.name ? &kTransforms : FindPlatform(name);
}

std::vector<std::string_view> OptPlatformNames() {
  std::vector<std::string_view> names = {kTransforms.name};
  for (const PlatformInfo& platform : kPlatforms) names.push_back(platform.name);
  return names;
}

const StageInfo* FindStage(std::string_view name, const PlatformInfo& platform) {
  if (name == kUnchanged.name && platform.pipeline.empty()) return &kUnchanged;
  for (const StageInfo& stage : kStages) {
    if (stage.name == name && (!stage.form.empty() || IsListed(platform.stages, stage.run_emit)))
      return &stage;
  }
  return nullptr;
}

std::vector<std::string_view> StageNames(const PlatformInfo& platform) {
  std::vector<std::string_view> names;
  for (const StageInfo& stage : kStages) {
    if (FindStage(stage.name, platform) != nullptr) names.push_back(stage.name);
  }
  return names;
}

}  // namespace hlo
