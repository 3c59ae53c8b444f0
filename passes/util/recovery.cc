#include "passes/util/recovery.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "lib/ir/builder.h"
#include "lib/ir/module.h"
#include "lib/ir/printer.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr std::string_view kPlaceholder = "__ovp";

// The n-th name of an array that stands for none of the source program.
std::string PlaceholderAfter(const std::string& name) {
  const size_t at = name.rfind(kPlaceholder);
  int64_t n = 0;
  if (at == std::string::npos || !absl::SimpleAtoi(name.substr(at + kPlaceholder.size()), &n))
    return fmt::format("{}{}0", name, kPlaceholder);
  return fmt::format("{}{}{}", name.substr(0, at), kPlaceholder, n + 1);
}

}  // namespace

std::string RecoveryModule(Shape from, absl::FunctionRef<Instruction*(Instruction* array)> build) {
  Module module("recovery_module");
  Computation* const computation = module.AddEntry("recovery_computation");
  computation->set_root(build(Builder(computation).Parameter(0, from, "param")));
  module.ResetEntryLayout();
  return ToText(module);
}

void NoteRecovery(const Instruction& old, Instruction* now,
                  absl::FunctionRef<std::optional<std::string>(size_t leaf)> recover) {
  const OriginalValue::Node* const origin = OriginOf(old);
  if (origin == nullptr) return;
  const std::vector<OriginalArray> arrays = OriginLeaves(*origin);
  const OriginalValue::Node* const kept = OriginOf(*now);
  std::vector<OriginalArray> known =
      kept == nullptr ? std::vector<OriginalArray>(arrays.size()) : OriginLeaves(*kept);
  if (known.size() != arrays.size()) return;
  std::vector<RecoveryEntry>& table = now->module().config().recovery_table;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const OriginalArray& array = arrays[i];
    const auto place = absl::c_lower_bound(
        table, array,
        [](const RecoveryEntry& entry, const OriginalArray& to) { return entry.old_array < to; });
    const bool has_entry = place != table.end() && place->old_array == array;
    if (array.name.empty() || array == known[i] || has_entry) continue;
    std::optional<std::string> text = recover(i);
    if (!text.has_value()) continue;
    if (known[i].name.empty()) {
      known[i] = array;
      if (text->empty()) continue;
      known[i].name = PlaceholderAfter(array.name);
    }
    table.insert(place, {array, known[i], *std::move(text)});
  }
  const bool any =
      absl::c_any_of(known, [](const OriginalArray& array) { return !array.name.empty(); });
  const OriginalValue::Node node = OriginOfLeaves(now->shape(), known);
  if (any) SetOrigin(now, &node);
}

}  // namespace hlo
