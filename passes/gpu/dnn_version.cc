#include "passes/gpu/dnn_version.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

absl::Status ParseOption(const OptionText& text, DnnVersion& out) {
  std::vector<int64_t> numbers;
  for (const std::string_view word : Split(text.value, '.')) {
    numbers.push_back(ReadNumber<int64_t>(word).value_or(-1));
    if (numbers.back() >= 0) continue;
    numbers.clear();
    break;
  }
  if (numbers.size() < 2 || numbers.size() > 3)
    return Error(text.loc, "option `{}` expects {}, found `{}`", text.name, OptionType(out),
                 text.value);
  numbers.resize(3);
  out = {numbers[0], numbers[1], numbers[2]};
  return absl::OkStatus();
}
std::string OptionValue(const DnnVersion& version) {
  return fmt::format("{}.{}.{}", version.major_number, version.minor_number, version.patch);
}
std::string OptionType(const DnnVersion&) { return "a version such as 9.8.0"; }

CudaCapability LeastForF8Convolutions(const DnnVersion& dnn) {
  return dnn >= DnnVersion{9, 8, 0} ? CudaCapability{8, 9} : CudaCapability{9, 0};
}

}  // namespace hlo
