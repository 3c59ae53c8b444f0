#include "lib/ir/send_recv_pairs.h"

#include "lib/support/read_number.h"

namespace hlo {

const std::string* FindFrontendAttribute(const Instruction& instruction, std::string_view name) {
  if (instruction.extras() == nullptr) return nullptr;
  const FrontendAttributes& attributes = instruction.extras()->frontend_attributes;
  const auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : &it->second;
}

std::optional<SendRecvPairs> ParseSendRecvPairs(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const char c = text[0];
    if (c == '{' || c == '}' || c == ',' || c == ' ') {
      text.remove_prefix(1);
      continue;
    }
    const std::optional<int64_t> number = TakeNumber<int64_t>(text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() % 2 != 0) return std::nullopt;
  SendRecvPairs pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.push_back({numbers[i], numbers[i + 1]});
  return pairs;
}

}  // namespace hlo
