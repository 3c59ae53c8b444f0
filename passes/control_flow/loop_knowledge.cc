#include "passes/control_flow/loop_knowledge.h"

#include <fmt/core.h>

#include "lib/support/read_number.h"

namespace hlo {
namespace {

// The number `key` of the object `name`: "name":{…"key":"12"…}.
std::optional<int64_t> NumberIn(std::string_view config, std::string_view name,
                                std::string_view key) {
  const size_t object = config.find(fmt::format("\"{}\"", name));
  if (object == config.npos) return std::nullopt;
  config = config.substr(object + name.size() + 2);
  const size_t begin = config.find('{'), end = config.find('}');
  if (begin == config.npos || end == config.npos || end < begin) return std::nullopt;
  config = config.substr(begin, end - begin);
  const size_t at = config.find(fmt::format("\"{}\"", key));
  if (at == config.npos) return std::nullopt;
  const size_t digits = config.find_first_of("-0123456789", at + key.size() + 2);
  if (digits == config.npos) return std::nullopt;
  config.remove_prefix(digits);
  return TakeNumber<int64_t>(config);
}

}  // namespace

LoopKnowledge LoopKnowledge::FromConfig(std::string_view config) {
  LoopKnowledge known;
  known.trip_count = NumberIn(config, "known_trip_count", "n");
  known.init = NumberIn(config, "known_init_step", "init");
  known.step = NumberIn(config, "known_init_step", "step");
  known.induction_index = NumberIn(config, "known_induction_variable", "tuple_index");
  return known;
}

std::string LoopKnowledge::ToConfig() const {
  std::string text = "{";
  if (trip_count) text += fmt::format(R"("known_trip_count":{{"n":"{}"}},)", *trip_count);
  if (init && step)
    text += fmt::format(R"("known_init_step":{{"init":"{}","step":"{}"}},)", *init, *step);
  if (induction_index)
    text += fmt::format(R"("known_induction_variable":{{"tuple_index":"{}"}},)", *induction_index);
  if (text.back() == ',') text.pop_back();
  return text + "}";
}

}  // namespace hlo
