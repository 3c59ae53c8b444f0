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

constexpr OptPlatform kPlatforms[] = {
    {"transforms", "", ""},
    {"cpu", "CPU,host,Host", "default<cpu>"},
    {"gpu", "GPU,cuda,CUDA", "default<gpu>"},
    {"interpreter", "Interpreter", ""},
};

constexpr StageInfo kStages[] = {
    {"hlo", "", "hlo", ""},
    {"html", "", "html", ""},
    {"hlo-backend", "transforms,interpreter", "hlo", ""},
    {"hlo-backend", "cpu,gpu", "", "hlo"},
    {"buffer-assignment", "cpu,gpu", "", "buffers"},
    {"thunks", "cpu,gpu", "", "thunks"},
    {"tile", "cpu", "", "tile"},
    {"llvm", "cpu,gpu", "", "llvm"},
    {"llvm-before-optimizations", "cpu,gpu", "", "llvm"},
    {"llvm-after-optimizations", "cpu,gpu", "", "llvm"},
    {"asm", "cpu", "", "asm"},
    {"ptx", "gpu", "", "ptx", "// GPU Executable"},
    {"kernels", "gpu", "", "kernels"},
};

bool IsListed(std::string_view list, std::string_view word) {
  for (const std::string_view listed : Split(list, ',')) {
    if (listed == word) return true;
  }
  return false;
}

bool Contains(const Pipeline& pipeline, std::string_view pass) {
  return std::any_of(pipeline.begin(), pipeline.end(), [&](const PipelineItem& item) {
    return item.name == pass || Contains(item.children, pass);
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
    if (items.ok() && Contains(*items, pass))
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

const OptPlatform* FindOptPlatform(std::string_view name) {
  for (const OptPlatform& platform : kPlatforms) {
    if (platform.name == name || (!name.empty() && IsListed(platform.aliases, name)))
      return &platform;
  }
  return nullptr;
}

std::vector<std::string_view> OptPlatformNames() {
  std::vector<std::string_view> names;
  for (const OptPlatform& platform : kPlatforms) names.push_back(platform.name);
  return names;
}

const StageInfo* FindStage(std::string_view name, std::string_view platform) {
  for (const StageInfo& stage : kStages) {
    if (stage.name == name && (stage.platforms.empty() || IsListed(stage.platforms, platform)))
      return &stage;
  }
  return nullptr;
}

std::vector<std::string_view> StageNames(std::string_view platform) {
  std::vector<std::string_view> names;
  for (const StageInfo& stage : kStages) {
    if (FindStage(stage.name, platform) == &stage) names.push_back(stage.name);
  }
  return names;
}

}  // namespace hlo
