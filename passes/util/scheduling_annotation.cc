#include "passes/util/scheduling_annotation.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "lib/support/status.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr std::string_view kGroupKey = "_scheduling_group_id";
constexpr std::string_view kNoGroup = "noop";

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value)) return std::nullopt;
  return value;
}

}  // namespace

std::string SchedulingAnnotation::ToString() const {
  std::string text = group ? fmt::format("{}", *group) : "";
  if (iteration) text += fmt::format(":{}", *iteration);
  return text;
}

bool HasSchedulingAnnotation(const Instruction& instruction) {
  return instruction.extras() != nullptr &&
         instruction.extras()->frontend_attributes.contains(std::string(kGroupKey));
}

bool IsInNoSchedulingGroup(const Instruction& instruction) {
  return FrontendAttribute(instruction, kGroupKey) == kNoGroup;
}

absl::StatusOr<std::optional<SchedulingAnnotation>> SchedulingAnnotationOf(
    const Instruction& instruction) {
  if (!HasSchedulingAnnotation(instruction)) return std::nullopt;
  const std::string_view text = FrontendAttribute(instruction, kGroupKey);
  if (text == kNoGroup) return std::nullopt;
  const size_t colon = text.find(':');
  const std::string_view group = text.substr(0, colon);
  const std::string_view iteration =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  SchedulingAnnotation annotation = {WholeNumber(group), WholeNumber(iteration)};
  if ((!group.empty() && (!annotation.group || *annotation.group < 0)) ||
      (!iteration.empty() && !annotation.iteration))
    return Error(instruction.loc(),
                 "`{}` of `{}` is `{}`; expected a number of a group, at least 0, and, after a "
                 "colon, of an iteration, or `{}`",
                 kGroupKey, instruction.name(), text, kNoGroup);
  return annotation;
}

void SetSchedulingAnnotation(Instruction* instruction, const SchedulingAnnotation& annotation) {
  instruction->mutable_extras().frontend_attributes.insert_or_assign(std::string(kGroupKey),
                                                                     annotation.ToString());
}

void RemoveSchedulingAnnotation(Instruction* instruction) {
  FrontendAttributes kept;
  for (const auto& [key, value] : instruction->extras()->frontend_attributes) {
    if (key != kGroupKey) kept.insert_or_assign(key, value);
  }
  instruction->mutable_extras().frontend_attributes = std::move(kept);
}

}  // namespace hlo
