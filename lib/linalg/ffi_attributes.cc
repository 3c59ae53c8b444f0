#include "lib/linalg/ffi_attributes.h"

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo::linalg {
namespace {

// The end of the entry that starts at `from`: the next comma outside of brackets and quotes.
size_t EndOfEntry(std::string_view text, size_t from) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (quoted) continue;
    if (c == '{' || c == '[' || c == '(' || c == '<') ++depth;
    if (c == '}' || c == ']' || c == ')' || c == '>') --depth;
    if (c == ',' && depth == 0) return i;
  }
  return text.size();
}

}  // namespace

absl::StatusOr<FfiAttributes> ParseFfiAttributes(std::string_view text) {
  FfiAttributes attributes;
  text = Trim(text);
  if (text.empty()) return attributes;
  if (text.front() != '{' || text.back() != '}')
    return Error("the attributes of the call are no dictionary: `{}`", text);
  text = text.substr(1, text.size() - 2);
  for (size_t from = 0; from < text.size();) {
    const size_t end = EndOfEntry(text, from);
    const std::string_view entry = Trim(text.substr(from, end - from));
    from = end + 1;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      if (entry.empty()) continue;
      return Error("attribute `{}` of the call has no value", entry);
    }
    std::string_view value = Trim(entry.substr(equals + 1));
    if (!value.starts_with('"')) value = value.substr(0, value.find(" :"));
    attributes.emplace_back(Trim(entry.substr(0, equals)), value);
  }
  return attributes;
}

}  // namespace hlo::linalg
