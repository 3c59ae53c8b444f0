// Text with a name, and places in it. A SourceLoc is a byte range; it is small enough to live in
// every token and instruction. Lines and columns are computed only when a message is rendered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hlo {

// A byte range of a Source. `kNone` marks "no place known".
struct SourceLoc {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t offset = kNone;
  uint32_t length = 0;

  bool known() const { return offset != kNone; }
  friend bool operator==(const SourceLoc&, const SourceLoc&) = default;
};

// 1-based line and column (in bytes).
struct LineColumn {
  int line = 0;
  int column = 0;
};

// A named text. Owns the bytes.
class Source {
 public:
  Source() = default;
  Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  std::string_view name() const { return name_; }
  std::string_view text() const { return text_; }
  // Line and column of a byte offset; offsets past the end give the end.
  LineColumn Locate(uint32_t offset) const;
  // The whole line (without its end) that holds `offset`.
  std::string_view LineAt(uint32_t offset) const;
  // The source line and a caret line under `loc`, both ending in a newline; long lines are cut
  // around the caret.
  std::string RenderCaret(SourceLoc loc) const;

 private:
  std::string name_;
  std::string text_;
};

}  // namespace hlo
