// The passes by name, from passes.def.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace hlo {

enum class PassGroup {
  kAlgsimp,
  kSimplify,
  kExpand,
  kControlFlow,
  kCollectives,
  kPrecision,
  kDynamic,
  kSharding,
  kSpmd,
  kFusion,
  kLayout,
  kSchedule,
  kBuffers,
  kCpu,
  kGpu,
  kTesting
};

struct PassInfo {
  std::string_view name;
  PassGroup group;
  std::string_view summary;
  MadePass (*make)(const OptionTexts& options, std::string_view name);
  std::vector<OptionInfo> (*options)();
  RuleSafety (*safety)();      // how much results may change
  AnalysisSet (*preserved)();  // what stays true of a module that it changed
};

// All passes, sorted by name.
std::span<const PassInfo> AllPasses();
// The row of this name, or null.
const PassInfo* FindPass(std::string_view name);
// As FindPass; a miss is an error with a suggestion: kUnimplemented for a pass that XLA has.
absl::StatusOr<const PassInfo*> GetPass(std::string_view name, SourceLoc loc = {});
// The name that an error of GetPass is about, or one of a pipeline with it; other errors: none.
std::optional<std::string> MissingPass(const absl::Status& error);
// Whether XLA's hlo-opt has, or had, a pass of this name.
bool IsXlaPass(std::string_view name);
std::string_view Text(PassGroup group);

}  // namespace hlo
