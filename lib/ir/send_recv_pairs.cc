#include "lib/ir/send_recv_pairs.h"

#include <charconv>

namespace hlo {

const std::string* FindFrontendAttribute(const Instruction& instruction, std::string_view name) {
  if (instruction.extras() == nullptr) return nullptr;
  const FrontendAttributes& attributes = instruction.extras()->frontend_attributes;
  const auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : &it->second;
}

std::optional<SendRecvPairs> ParseSendRecvPairs(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '{' || c == '}' || c == ',' || c == ' ') {
      ++at;
      continue;
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    at = static_cast<size_t>(end - text.data());
  }
  if (numbers.size() % 2 != 0) return std::nullopt;
  SendRecvPairs pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.push_back({numbers[i], numbers[i + 1]});
  return pairs;
}

}  // namespace hlo
