#include "passes/util/cuda_capability.h"

#include <fmt/core.h>

#include <charconv>

namespace hlo {
namespace {

// A whole number at the front of `text`, which is taken off it.
bool TakeNumber(std::string_view& text, int& number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

absl::Status ParseOption(const OptionText& text, CudaCapability& out) {
  std::string_view rest = text.value;
  CudaCapability read;
  bool is_read = TakeNumber(rest, read.generation);
  if (is_read && rest.starts_with('.')) {
    rest.remove_prefix(1);
    is_read = TakeNumber(rest, read.revision);
  } else {
    read = {read.generation / 10, read.generation % 10};
  }
  if (!is_read || read.generation == 0 || !(rest.empty() || rest == "a" || rest == "f"))
    return Error(text.loc, "option `{}` expects {}, found `{}`", text.name, OptionType(read),
                 text.value);
  out = read;
  return absl::OkStatus();
}

std::string OptionValue(CudaCapability capability) {
  return fmt::format("{}.{}", capability.generation, capability.revision);
}

std::string OptionType(CudaCapability) { return "a compute capability such as 8.0"; }

}  // namespace hlo
