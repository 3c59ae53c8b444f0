#include "passes/util/send_recv_iterations.h"

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "lib/support/read_number.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr std::string_view kAttribute = "_xla_send_recv_validation";

// Takes `expected` from the front of `text`, and blanks before it.
bool Take(std::string_view& text, char expected) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> Number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return TakeNumber<int64_t>(text);
}

}  // namespace

std::optional<SendRecvIterations> SendRecvIterationsOf(const Instruction& instruction) {
  std::string_view text = FrontendAttribute(instruction, kAttribute);
  SendRecvIterations iterations;
  if (!Take(text, '{')) return std::nullopt;
  while (Take(text, '{')) {
    const std::optional<int64_t> first = Number(text);
    if (!first || !Take(text, ',')) return std::nullopt;
    const std::optional<int64_t> last = Number(text);
    if (!last || !Take(text, '}')) return std::nullopt;
    iterations.emplace_back(*first, *last);
    if (!Take(text, ',')) break;
  }
  if (!Take(text, '}')) return std::nullopt;
  return iterations;
}

void ChangeSendRecvIterations(
    Instruction* instruction,
    const std::function<std::pair<int64_t, int64_t>(int64_t first, int64_t last)>& change) {
  const std::optional<SendRecvIterations> iterations = SendRecvIterationsOf(*instruction);
  if (!iterations) return;
  std::string text;
  for (const auto& [first, last] : *iterations) {
    const auto [new_first, new_last] = change(first, last);
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", new_first, new_last);
  }
  std::string& value = instruction->mutable_extras().frontend_attributes[std::string(kAttribute)];
  const bool is_quoted = value.starts_with('"');
  value = is_quoted ? fmt::format("\"{{{}}}\"", text) : fmt::format("{{{}}}", text);
}

void KeepSendRecvIteration(Instruction* copy, int64_t iteration) {
  ChangeSendRecvIterations(copy, [&](int64_t first, int64_t last) {
    const bool sends = first <= iteration && iteration <= last;
    return sends ? std::pair<int64_t, int64_t>(0, 0) : std::pair<int64_t, int64_t>(1, 0);
  });
}

}  // namespace hlo
