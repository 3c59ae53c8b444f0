#include "passes/util/cuda_capability.h"

#include <fmt/core.h>

#include "lib/support/read_number.h"

namespace hlo {
namespace {

bool TakeTo(std::string_view& text, int& number) {
  const std::optional<int> read = TakeNumber<int>(text);
  number = read.value_or(0);
  return read && number >= 0;
}

}  // namespace

absl::Status ParseOption(const OptionText& text, CudaCapability& out) {
  std::string_view rest = text.value;
  CudaCapability read;
  bool is_read = TakeTo(rest, read.generation);
  if (is_read && rest.starts_with('.')) {
    rest.remove_prefix(1);
    is_read = TakeTo(rest, read.revision);
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
