#include "passes/registry.h"

#include <algorithm>
#include <array>

#include "absl/strings/cord.h"
#include "lib/support/strings.h"
#include "passes/pipelines.h"

namespace hlo {

#define HLO_PASS(name, Class, group, summary)                               \
  MadePass Make##Class(const OptionTexts& options, std::string_view name_); \
  std::vector<OptionInfo> OptionsOf##Class();                               \
  RuleSafety SafetyOf##Class();                                             \
  AnalysisSet PreservedBy##Class();
#include "passes/passes.def"

namespace {

constexpr PassInfo kPasses[] = {
#define HLO_PASS(name, Class, group, summary) \
  {name,                                      \
   PassGroup::group,                          \
   summary,                                   \
   &Make##Class,                              \
   &OptionsOf##Class,                         \
   &SafetyOf##Class,                          \
   &PreservedBy##Class},
#include "passes/passes.def"
};
static_assert(std::is_sorted(std::begin(kPasses), std::end(kPasses),
                             [](const PassInfo& a, const PassInfo& b) { return a.name < b.name; }),
              "rows of passes.def are sorted by name");

// Names that XLA has given up, sorted.
struct Alias {
  std::string_view name;
  std::string_view pass;
};
constexpr Alias kAliases[] = {{"bf16-normalization", "float-normalization-bf16"},
                              {"gpu-conv-padding-legalization", "conv-padding-legalization"},
                              {"gpu-conv-rewriter", "conv-rewriter"},
                              {"gpu-sanitize-constant-names", "sanitize-constant-names"},
                              {"gpu-tree-reduction-rewriter", "tree-reduction-rewriter"},
                              {"spmd-partitioning", "spmd-partitioner"}};

constexpr std::string_view kXlaPasses[] = {
#include "passes/xla_passes.inc"
};
static_assert(std::is_sorted(std::begin(kXlaPasses), std::end(kXlaPasses)));

// Why some of them are not here, and what to run instead.
struct LeftOut {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view kMeasures =
    "it measures on a device; `gemm-algorithm-picker` and `gpu-conv-algorithm-picker` apply what "
    "was measured";
constexpr LeftOut kLeftOut[] = {
    {"apply-xla-transforms", "what it runs is C++ code that a program registers with XLA"},
    {"autotuner", kMeasures},
    {"config-assigner", kMeasures},
    {"shape-canonicalizer", "equal shapes share their memory without a pass"},
    {"triton-gemm-rewriter",
     "there is no Triton; `gpu-epilogue-fusion` makes kernels of products and what follows them"},
};

// What MissingPass finds again.
constexpr char kMissingPassUrl[] = "hlo/missing-pass";

absl::Status Missing(std::string_view name, absl::Status error) {
  error.SetPayload(kMissingPassUrl, absl::Cord(std::string(name)));
  return error;
}

}  // namespace

bool IsXlaPass(std::string_view name) {
  return std::binary_search(std::begin(kXlaPasses), std::end(kXlaPasses), name);
}

std::span<const PassInfo> AllPasses() { return kPasses; }

const PassInfo* FindPass(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) name = alias.pass;
  }
  const auto* it =
      std::lower_bound(std::begin(kPasses), std::end(kPasses), name,
                       [](const PassInfo& info, std::string_view n) { return info.name < n; });
  return it != std::end(kPasses) && it->name == name ? it : nullptr;
}

absl::StatusOr<const PassInfo*> GetPass(std::string_view name, SourceLoc loc) {
  if (const PassInfo* info = FindPass(name)) return info;
  for (const LeftOut& pass : kLeftOut) {
    if (pass.name == name) {
      return Missing(
          name, Unsupported(loc, "pass `{}` of XLA is not implemented: {}", name, pass.reason));
    }
  }
  if (IsXlaPass(name))
    return Missing(name, Unsupported(loc, "pass `{}` of XLA is not implemented yet", name));
  std::vector<std::string_view> names;
  for (const PassInfo& info : kPasses) names.push_back(info.name);
  for (const NamedPipeline& pipeline : AllPipelines()) names.push_back(pipeline.name);
  return Missing(name, Error(loc, "unknown pass `{}`{}", name, DidYouMean(name, names)));
}

std::optional<std::string> MissingPass(const absl::Status& error) {
  const auto name = error.GetPayload(kMissingPassUrl);
  return name ? std::optional(std::string(*name)) : std::nullopt;
}

std::string_view Text(PassGroup group) {
  switch (group) {
    case PassGroup::kAlgsimp: return "algsimp";
    case PassGroup::kSimplify: return "simplify";
    case PassGroup::kExpand: return "expand";
    case PassGroup::kControlFlow: return "control_flow";
    case PassGroup::kCollectives: return "collectives";
    case PassGroup::kPrecision: return "precision";
    case PassGroup::kDynamic: return "dynamic";
    case PassGroup::kSharding: return "sharding";
    case PassGroup::kSpmd: return "spmd";
    case PassGroup::kFusion: return "fusion";
    case PassGroup::kLayout: return "layout";
    case PassGroup::kSchedule: return "schedule";
    case PassGroup::kBuffers: return "buffers";
    case PassGroup::kCpu: return "cpu";
    case PassGroup::kGpu: return "gpu";
    case PassGroup::kTesting: return "testing";
  }
  return "";
}

}  // namespace hlo
