#include "lib/support/source.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr size_t kMaxLine = 160;

// Where the line that holds `at` starts.
size_t LineStart(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

LineColumn Source::Locate(uint32_t offset) const {
  const size_t end = std::min<size_t>(offset, text_.size());
  const std::string_view before = std::string_view(text_).substr(0, end);
  const int line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  return {line, static_cast<int>(end - LineStart(text_, end)) + 1};
}

std::string_view Source::LineAt(uint32_t offset) const {
  const std::string_view text = text_;
  const size_t at = std::min<size_t>(offset, text.size());
  const size_t start = LineStart(text, at);
  size_t end = text.find_first_of("\r\n", at);
  if (end == std::string_view::npos) end = text.size();
  return text.substr(start, end - start);
}

std::string Source::RenderCaret(SourceLoc loc) const {
  if (!loc.known()) return "";
  std::string_view line = LineAt(loc.offset);
  const size_t at = std::min<size_t>(loc.offset, text_.size());
  size_t column = at - LineStart(text_, at);
  std::string_view prefix;
  if (line.size() > kMaxLine) {
    const size_t start = column > kMaxLine / 2 ? column - kMaxLine / 2 : 0;
    line = line.substr(start, kMaxLine);
    column -= start;
    if (start > 0) prefix = "...";
  }
  std::string result(prefix);
  for (const char c : line) result += (c >= ' ' || c == '\t' || c < 0) ? c : '?';
  result += '\n';
  result.append(prefix.size(), ' ');
  for (size_t i = 0; i < column && i < line.size(); ++i) result += line[i] == '\t' ? '\t' : ' ';
  result += '^';
  const size_t room = line.size() > column ? line.size() - column : 1;
  const size_t length = std::min<size_t>(std::max<uint32_t>(loc.length, 1), room);
  result.append(length - 1, '~');
  result += '\n';
  return result;
}

}  // namespace hlo
