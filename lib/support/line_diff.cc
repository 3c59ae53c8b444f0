#include "lib/support/line_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace hlo {
namespace {

using Lines = std::vector<std::string_view>;

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Which lines of `a` go and which of `b` come.
struct Script {
  std::vector<bool> removed;
  std::vector<bool> added;
};

// Myers' greedy search from both starts; `trace[d]` holds the furthest points after d edits.
class Myers {
 public:
  Myers(const Lines& a, const Lines& b, int64_t begin, int64_t a_end, int64_t b_end, Script& script)
      : a_(a), b_(b), begin_(begin), n_(a_end - begin), m_(b_end - begin), script_(script) {}

  void Run() {
    constexpr int64_t kMaxEdits = 4000;  // memory grows with its square
    std::vector<int64_t> furthest(static_cast<size_t>(2 * kMaxEdits + 3), 0);
    for (int64_t d = 0; d <= std::min(n_ + m_, kMaxEdits); ++d) {
      trace_.emplace_back();
      for (int64_t k = -d; k <= d; k += 2) {
        const auto at = [&](int64_t diagonal) -> int64_t& {
          return furthest[static_cast<size_t>(diagonal + kMaxEdits + 1)];
        };
        int64_t x = d == 0                                         ? 0
                    : k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1)
                                                                   : at(k - 1) + 1;
        int64_t y = x - k;
        while (x < n_ && y < m_ && A(x) == B(y)) ++x, ++y;
        at(k) = x;
        trace_.back().push_back(x);
        if (x >= n_ && y >= m_) return Backtrack(d, k);
      }
    }
    for (int64_t x = 0; x < n_; ++x) script_.removed[static_cast<size_t>(begin_ + x)] = true;
    for (int64_t y = 0; y < m_; ++y) script_.added[static_cast<size_t>(begin_ + y)] = true;
  }

 private:
  std::string_view A(int64_t x) const { return a_[static_cast<size_t>(begin_ + x)]; }
  std::string_view B(int64_t y) const { return b_[static_cast<size_t>(begin_ + y)]; }

  void Backtrack(int64_t d, int64_t k) {
    for (; d > 0; --d) {
      const std::vector<int64_t>& before = trace_[static_cast<size_t>(d - 1)];
      const auto at = [&](int64_t diagonal) {
        return before[static_cast<size_t>((diagonal + d - 1) / 2)];
      };
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int64_t previous = down ? k + 1 : k - 1;
      const int64_t x = at(previous);
      if (down) {
        script_.added[static_cast<size_t>(begin_ + x - previous)] = true;
      } else {
        script_.removed[static_cast<size_t>(begin_ + x)] = true;
      }
      k = previous;
    }
  }

  const Lines& a_;
  const Lines& b_;
  int64_t begin_, n_, m_;
  Script& script_;
  std::vector<std::vector<int64_t>> trace_;
};

}  // namespace

std::string LineDiff(std::string_view before, std::string_view after,
                     const LineDiffOptions& options) {
  if (before == after) return "";
  const Lines a = LinesOf(before), b = LinesOf(after);
  Script script{std::vector<bool>(a.size()), std::vector<bool>(b.size())};
  size_t begin = 0, a_end = a.size(), b_end = b.size();
  while (begin < std::min(a_end, b_end) && a[begin] == b[begin]) ++begin;
  while (a_end > begin && b_end > begin && a[a_end - 1] == b[b_end - 1]) --a_end, --b_end;
  Myers(a, b, static_cast<int64_t>(begin), static_cast<int64_t>(a_end), static_cast<int64_t>(b_end),
        script)
      .Run();

  // Lines in order with their marks; then the hunks are cut from them.
  struct Line {
    char mark;
    std::string_view text;
    size_t a, b;
  };
  std::vector<Line> lines;
  for (size_t x = 0, y = 0; x < a.size() || y < b.size();) {
    if (x < a.size() && script.removed[x]) {
      lines.push_back({'-', a[x], x, y});
      ++x;
    } else if (y < b.size() && script.added[y]) {
      lines.push_back({'+', b[y], x, y});
      ++y;
    } else {
      lines.push_back({' ', a[x], x, y});
      ++x, ++y;
    }
  }
  const auto context = static_cast<size_t>(options.context);
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    while (at < lines.size() && lines[at].mark == ' ') ++at;
    if (at == lines.size()) break;
    const size_t first = at - std::min(at, context);
    size_t last = at;  // of the hunk's differences
    for (size_t i = at; i < lines.size() && i - last <= 2 * context + 1; ++i) {
      if (lines[i].mark != ' ') last = i;
    }
    const size_t end = std::min(last + 1 + context, lines.size());
    size_t a_count = 0, b_count = 0;
    for (size_t i = first; i < end; ++i) {
      a_count += lines[i].mark != '+' ? 1 : 0;
      b_count += lines[i].mark != '-' ? 1 : 0;
    }
    out += fmt::format("@@ -{},{} +{},{} @@\n", lines[first].a + 1, a_count, lines[first].b + 1,
                       b_count);
    for (size_t i = first; i < end; ++i) {
      const Line& line = lines[i];
      const bool colored = options.color && line.mark != ' ';
      if (colored) out += line.mark == '-' ? "\033[31m" : "\033[32m";
      out += line.mark;
      out += line.text.ends_with('\n') ? line.text.substr(0, line.text.size() - 1) : line.text;
      if (colored) out += "\033[0m";
      out += '\n';
    }
    at = end;
  }
  return out;
}

}  // namespace hlo
