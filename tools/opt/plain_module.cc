#include "tools/opt/plain_module.h"

#include "lib/ir/any_instruction.h"
#include "lib/ir/extras.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

struct Part {
  std::string_view word;
  void (*strip)(Instruction& instruction);
};

constexpr Part kParts[] = {
    {"metadata", [](Instruction& i) { i.mutable_extras().metadata = {}; }},
    {"stack-frames", [](Instruction& i) { i.mutable_extras().metadata.stack_frame_id = 0; }},
    {"backend-config", [](Instruction& i) { i.mutable_extras().backend_config = {}; }},
    {"sharding", [](Instruction& i) { i.set_sharding({}); }},
    {"frontend-attributes", [](Instruction& i) { i.mutable_extras().frontend_attributes = {}; }},
    {"original-value", [](Instruction& i) { i.mutable_extras().origin = {}; }},
    {"statistics", [](Instruction& i) { i.mutable_extras().statistics = {}; }},
    {"layouts", [](Instruction& i) { i.set_shape(i.shape().WithDefaultLayout()); }},
};

}  // namespace

std::vector<std::string_view> StrippableParts() {
  std::vector<std::string_view> words;
  for (const Part& part : kParts) words.push_back(part.word);
  return words;
}

void StripParts(Module& module, std::string_view words) {
  const auto wants = [&](std::string_view part) {
    for (const std::string_view word : Split(words, ',')) {
      if (Trim(word) == part) return true;
    }
    return false;
  };
  if (wants("metadata") || wants("stack-frames")) module.config().stack_frames = {};
  for (const Part& part : kParts) {
    if (!wants(part.word)) continue;
    for (Instruction* instruction : AllInstructions(module)) {
      if (part.word == "layouts" || instruction->extras() != nullptr) part.strip(*instruction);
    }
  }
  if (wants("layouts")) module.ResetEntryLayout();
}

}  // namespace hlo
