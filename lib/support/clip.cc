#include "lib/support/clip.h"

#include <string_view>

namespace hlo {
namespace {

constexpr size_t kShort = 1000;  // messages up to this length stay as they are
constexpr size_t kQuote = 200;   // and so do quotes up to this one
constexpr size_t kHead = 120, kTail = 40;

// The nearest place at or before `at` that does not split a UTF-8 character.
size_t Boundary(std::string_view text, size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace

std::string ClipQuotes(std::string message) {
  if (message.size() <= kShort) return message;
  std::string out;
  std::string_view rest = message;
  while (!rest.empty()) {
    // A quote, or a word outside of quotes.
    const bool quoted = rest.front() == '`' && rest.find('`', 1) != std::string_view::npos;
    const size_t end = quoted ? rest.find('`', 1) : rest.find_first_of(" `", 1);
    const std::string_view piece = rest.substr(0, end);
    if (piece.size() <= kQuote) {
      out += piece;
    } else {
      out += piece.substr(0, Boundary(piece, kHead));
      out += "...";
      out += piece.substr(Boundary(piece, piece.size() - kTail));
    }
    rest.remove_prefix(piece.size());
    if (quoted) {
      out += '`';
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace hlo
