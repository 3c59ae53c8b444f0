#include "passes/pass.h"

#include <cmath>

#include "lib/support/read_number.h"
#include "lib/support/strings.h"

namespace hlo {

void PassContext::Emit(Remark kind, const Instruction& instruction, std::string message) {
  remarks_.push_back({kind, std::string(pass_), std::string(instruction.name()), std::move(message),
                      instruction.loc()});
}

std::vector<Computation*> PassContext::Computations(const Module& module,
                                                    const OpcodeSet& holding) {
  const auto holds_none = [&](const Computation* c) { return !c->MayHoldAny(holding); };
  std::vector<Computation*> found;
  for (Computation* computation : module.computations()) {
    if (!holds_none(computation)) found.push_back(computation);
  }
  if (found.size() <= 1) return found;
  found = Computations(module);
  std::erase_if(found, holds_none);
  return found;
}

std::vector<Computation*> PassContext::NonFusionComputations(const Module& module,
                                                             const OpcodeSet& holding) {
  std::vector<Computation*> found = Computations(module, holding);
  std::erase_if(found, [](const Computation* c) { return c->is_fusion(); });
  return found;
}

std::vector<Computation*> PassContext::ControlFlowComputations(const Module& module) {
  std::vector<Computation*> found = NonFusionComputations(module);
  std::erase_if(
      found, [](const Computation* c) { return DirectContext(*c) != CallContext::kControlFlow; });
  return found;
}

absl::StatusOr<bool> RunPart(Pass& pass, Module& module, PassContext& context) {
  context.analyses().Forget();
  absl::StatusOr<bool> changed = pass.Run(module, context);
  context.analyses().Forget();
  return changed;
}

namespace internal {
namespace {

absl::Status BadValue(const OptionText& text, std::string_view expected) {
  return Error(text.loc, "option `{}` expects {}, found `{}`", text.name, expected, text.value);
}

}  // namespace

absl::Status ParseOption(const OptionText& text, bool& out) {
  if (!text.has_value || text.value == "true" || text.value == "1") {
    out = true;
  } else if (text.value == "false" || text.value == "0") {
    out = false;
  } else {
    return BadValue(text, "`true` or `false`");
  }
  return absl::OkStatus();
}

absl::Status ParseOption(const OptionText& text, int64_t& out) {
  return ReadNumberTo(text.value, out) ? absl::OkStatus() : BadValue(text, "an integer");
}

absl::Status ParseOption(const OptionText& text, double& out) {
  const bool is_number = ReadNumberTo(text.value, out) && !std::isnan(out);
  return is_number ? absl::OkStatus() : BadValue(text, "a number");
}

absl::Status ParseOption(const OptionText& text, std::string& out) {
  out = text.value;
  return absl::OkStatus();
}

std::string OptionValue(bool value) { return value ? "true" : "false"; }
std::string OptionValue(int64_t value) { return std::to_string(value); }
std::string OptionValue(double value) { return fmt::format("{}", value); }
std::string OptionValue(const std::string& value) { return value; }

absl::Status OptionGivenTwice(const OptionTexts& texts) {
  for (size_t i = 1; i < texts.size(); ++i) {
    for (size_t before = 0; before < i; ++before) {
      if (texts[before].name == texts[i].name)
        return Error(texts[i].loc, "option `{}` is given twice", texts[i].name);
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownOption(const OptionText& text, const std::vector<OptionInfo>& known,
                           std::string_view pass) {
  if (known.empty())
    return Error(text.loc, "pass `{}` takes no options, found `{}`", pass, text.name);
  std::vector<std::string_view> names;
  for (const OptionInfo& info : known) names.push_back(info.name);
  return Error(text.loc, "pass `{}` has no option `{}`{}; its options are {}", pass, text.name,
               DidYouMean(text.name, names), Join(names, ", "));
}

}  // namespace internal
}  // namespace hlo
