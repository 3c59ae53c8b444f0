#include "tools/run/tolerances.h"

#include <fmt/format.h>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/auto_tolerance.h"
#include "tools/support/rounded_types.h"

namespace hlo {
namespace {

struct ToleranceWord {
  int64_t output = -1;  // all
  bool is_auto = false;
  OutputRule rule;
};

bool ReadBound(std::string_view text, double& value) {
  return ReadNumberTo(text, value) && value >= 0;
}

// "rtol,atol", or "abs=…,rel=…,ulps=…".
bool ReadNumbers(std::string_view text, Tolerance& tolerance) {
  const std::vector<std::string_view> parts = Split(text, ',');
  if (text.find('=') == std::string_view::npos) {
    return parts.size() == 2 && ReadBound(parts[0], tolerance.rel) &&
           ReadBound(parts[1], tolerance.abs);
  }
  for (const std::string_view part : parts) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = part.substr(0, equals), number = part.substr(equals + 1);
    const bool is_read = name == "abs" || name == "atol"   ? ReadBound(number, tolerance.abs)
                         : name == "rel" || name == "rtol" ? ReadBound(number, tolerance.rel)
                         : name == "ulps" || name == "ulp"
                             ? ReadNumberTo(number, tolerance.ulps) && tolerance.ulps >= 0
                             : false;
    if (!is_read) return false;
  }
  return true;
}

std::optional<ToleranceWord> ReadToleranceWord(std::string_view text) {
  ToleranceWord word;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (!ReadNumberTo(text.substr(0, colon), word.output) || word.output < 0) return std::nullopt;
    text.remove_prefix(colon + 1);
  }
  word.rule.tolerance = Tolerance();
  if (text == "ignore") {
    word.rule.is_ignored = true;
  } else if (text == "auto") {
    word.is_auto = word.rule.of_largest = true;
  } else if (text != "exact" && !ReadNumbers(text, *word.rule.tolerance)) {
    return std::nullopt;
  }
  return word;
}

SpecialValues SpecialOf(std::string_view word) {
  return word == "any"     ? SpecialValues::kAny
         : word == "error" ? SpecialValues::kError
                           : SpecialValues::kEqual;
}

}  // namespace

std::string ToleranceMistake(const std::string& text) {
  if (ReadToleranceWord(text)) return "";
  return fmt::format(
      "expects [OUTPUT:] and RTOL,ATOL, abs=X,rel=X,ulps=N, auto, exact or ignore, found `{}`",
      text);
}

absl::StatusOr<std::vector<OutputRule>> OutputRules(const ToolOptions& options,
                                                    const Module& module) {
  const std::vector<ElementType> types = RoundedTypes(module);
  std::vector<OutputRule> rules(types.size());
  std::vector<double> errors;
  if (options.has_tolerance()) {
    for (OutputRule& rule : rules) rule.tolerance = options.tolerance();
  }
  for (const std::string& text : options.tolerances) {
    const ToleranceWord word = *ReadToleranceWord(text);  // checked with the flag
    if (word.output >= std::ssize(rules)) {
      return Error("`--tolerance={}`: the module has {} output{}, numbered from 0", text,
                   rules.size(), rules.size() == 1 ? "" : "s");
    }
    for (size_t i = 0; i < rules.size(); ++i) {
      if (word.output >= 0 && word.output != static_cast<int64_t>(i)) continue;
      rules[i] = word.rule;
      if (!word.is_auto) continue;
      if (errors.empty()) errors = RelativeErrors(module);
      rules[i].tolerance->rel = errors[i];
    }
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].tolerance) rules[i].tolerance = DefaultTolerance(types[i]);
    rules[i].tolerance->nans = SpecialOf(options.nan);
    rules[i].tolerance->infinities = SpecialOf(options.inf);
  }
  return rules;
}

}  // namespace hlo
