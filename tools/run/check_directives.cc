// The directives of test files; see check_case.h.
#include <fmt/format.h>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/check_case.h"
#include "tools/run/devices.h"

namespace hlo {
namespace {

// How many brackets are open at the end of `text`.
int OpenBrackets(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
  }
  return depth;
}

absl::Status ParseTolerance(std::string_view text, Tolerance& tolerance) {
  double numbers[3] = {};
  int count = 0;
  for (std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    if (count == 3)
      return Error("`TOLERANCE` takes two or three numbers: abs, rel and ulps, found `{}`", text);
    if (!ReadNumberTo(word, numbers[count++]))
      return Error("`TOLERANCE` expects numbers, found `{}`", word);
  }
  if (count < 2)
    return Error("`TOLERANCE` takes two or three numbers: abs, rel and ulps, found `{}`", text);
  tolerance = {numbers[0], numbers[1], static_cast<int64_t>(numbers[2])};
  return absl::OkStatus();
}

class DirectiveReader {
 public:
  explicit DirectiveReader(std::string_view text) : lines_(Split(text, '\n')) {}

  absl::StatusOr<CheckDirectives> Run() {
    for (; at_ < lines_.size(); ++at_) {
      std::string value;
      if (Is("ARG", value)) {
        if (result_.runs.empty() || is_complete_) result_.runs.emplace_back();
        is_complete_ = false;
        const auto [device, literal] = SplitDevice(value);
        result_.runs.back().arguments.push_back(
            device < 0 ? std::move(value) : fmt::format("{}:{}", device, Trim(literal)));
      } else if (Is("EXPECT", value)) {
        const auto [device, literal] = SplitDevice(value);
        const bool is_next_device =
            is_complete_ && device >= 0 && !result_.runs.back().expected.contains(device);
        if (result_.runs.empty() || (is_complete_ && !is_next_device)) result_.runs.emplace_back();
        is_complete_ = true;
        result_.runs.back().expected[device] = Trim(literal);
      } else if (Is("TOLERANCE", value)) {
        RETURN_IF_ERROR(ParseTolerance(value, result_.tolerance));
      } else if (Is("EXPECT-ERROR", value)) {
        result_.expected_error = std::move(value);
      } else if (Is("PLATFORMS", value)) {
        for (std::string_view name : Split(value, ',')) result_.platforms.emplace_back(Trim(name));
      } else if (Is("DENORMALS", value)) {
        if (value != "keep" && value != "flush")
          return Error("`DENORMALS` expects keep or flush, found `{}`", value);
        result_.denormals = value == "keep" ? Denormals::kKeep : Denormals::kFlush;
      }
    }
    if (result_.runs.empty()) result_.runs.emplace_back();
    return std::move(result_);
  }

 private:
  // Whether this line is `// NAME: value`. A value whose brackets are open goes on in the next
  // comment lines.
  bool Is(std::string_view name, std::string& value) {
    const std::string prefix = fmt::format("// {}:", name);
    const std::string_view line = Trim(lines_[at_]);
    if (line.substr(0, prefix.size()) != prefix) return false;
    value = Trim(line.substr(prefix.size()));
    if (name == "EXPECT-ERROR") return true;
    while (OpenBrackets(value) > 0 && at_ + 1 < lines_.size()) {
      const std::string_view next = Trim(lines_[at_ + 1]);
      if (next.substr(0, 2) != "//") break;
      ++at_;
      value += ' ';
      value += Trim(next.substr(2));
    }
    return true;
  }

  std::vector<std::string_view> lines_;
  size_t at_ = 0;
  CheckDirectives result_;
  bool is_complete_ = false;  // the last run has its EXPECT
};

}  // namespace

absl::StatusOr<CheckDirectives> ParseDirectives(std::string_view text) {
  return DirectiveReader(text).Run();
}

}  // namespace hlo
