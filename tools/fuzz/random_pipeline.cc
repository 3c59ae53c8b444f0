#include "tools/fuzz/random_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "passes/pipeline.h"
#include "passes/registry.h"

namespace hlo {
namespace {

// Options that allow other results, or state something of the program that need not hold: a
// difference would say nothing.
constexpr std::string_view kOtherResults[] = {
    "allow_excess_precision", "assume_associative", "enable_fast_math",
    "enable_floats_are_real", "indeterministic",    "is_spmd",
    "minmax_propagate_nan",   "num_partitions",     "num_spatial_partitions",
    "slice_dynamic_output",   "spmd_partition",
};

// Options without which a pass has other results than the interpreter, for them always given.
struct Given {
  std::string_view pass, option;
};
constexpr Given kGiven[] = {{"rng-bit-generator-expander", "default_algorithm=philox"},
                            {"cublas-gemm-rewriter", "allow_excess_precision=false"}};

// What an option may be; empty: no value comes to mind, it keeps its default.
std::vector<std::string> ValuesOf(const OptionInfo& option) {
  if (std::find(std::begin(kOtherResults), std::end(kOtherResults), option.name) !=
      std::end(kOtherResults))
    return {};
  if (option.type == "bool") return {"false", "true"};
  // Limits and sizes: none, the smallest, and ones that small programs reach or never do.
  if (option.type == "int") return {"0", "1", "2", "3", "8", "64", "1000", "1000000"};
  return {};
}

// Whether the pass takes the value: some options have a least one.
bool Takes(const PassInfo& pass, const OptionInfo& option, const std::string& value) {
  return ParsePipeline(fmt::format("{}{{{}={}}}", pass.name, option.name, value)).ok();
}

// `{a=1,b=true}`, or nothing.
std::string RandomOptions(const PassInfo& pass, FuzzRandom& random) {
  std::string text;
  for (const Given& given : kGiven) {
    if (given.pass == pass.name) text = given.option;
  }
  const std::vector<OptionInfo> options =
      random.OneIn(3) ? std::vector<OptionInfo>() : pass.options();
  for (const OptionInfo& option : options) {
    const std::vector<std::string> values = ValuesOf(option);
    if (values.empty() || random.OneIn(2)) continue;
    const std::string& value = random.Pick(values);
    if (value != option.default_value && Takes(pass, option, value))
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", option.name, value);
  }
  return text.empty() ? "" : "{" + text + "}";
}

}  // namespace

std::string RandomPipelineText(size_t most, FuzzRandom& random) {
  static const std::vector<const PassInfo*> kPasses = [] {
    std::vector<const PassInfo*> passes;
    for (const PassInfo& info : AllPasses()) {
      if (info.group != PassGroup::kTesting) passes.push_back(&info);
    }
    return passes;
  }();
  std::string text;
  for (size_t i = random.Small(most); i > 0; --i) {
    const PassInfo& pass = *random.Pick(kPasses);
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", pass.name, RandomOptions(pass, random));
  }
  return text;
}

}  // namespace hlo
