#include "lib/support/line_diff.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace hlo {
namespace {

// Applies the diff (with all context) to `before`.
std::string Patched(std::string_view diff) {
  std::string out;
  while (!diff.empty()) {
    const size_t end = diff.find('\n');
    const std::string_view line = diff.substr(0, end);
    if (line[0] == ' ' || line[0] == '+') out += std::string(line.substr(1)) + "\n";
    diff.remove_prefix(end + 1);
  }
  return out;
}

TEST_CASE("equal texts have no difference", "[support][line_diff]") {
  CHECK(LineDiff("a\nb\n", "a\nb\n").empty());
}

TEST_CASE("a changed line stands in its context", "[support][line_diff]") {
  CHECK(LineDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", {.context = 1}) ==
        "@@ -4,3 +4,3 @@\n 4\n-5\n+x\n 6\n");
}

TEST_CASE("far changes are hunks of their own", "[support][line_diff]") {
  CHECK(LineDiff("a\n1\n2\n3\n4\n5\nb\n", "x\n1\n2\n3\n4\n5\ny\n", {.context = 1}) ==
        "@@ -1,2 +1,2 @@\n-a\n+x\n 1\n@@ -6,2 +6,2 @@\n 5\n-b\n+y\n");
}

TEST_CASE("the script is the shortest", "[support][line_diff]") {
  // Myers' own example: five edits.
  const std::string diff = LineDiff("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", {.context = 9});
  const auto count = [&](std::string_view mark) {
    int n = 0;
    for (size_t at = 0; (at = diff.find(mark, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  CHECK(count("\n-") + count("\n+") == 5);
  CHECK(Patched(diff.substr(diff.find('\n') + 1)) == "c\nb\na\nb\na\nc\n");
}

TEST_CASE("a diff turns one text into the other", "[support][line_diff]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string a, b;
    for (std::string* text : {&a, &b}) {
      const int lines = static_cast<int>(random() % 30);
      for (int i = 0; i < lines; ++i)
        *text += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
    }
    const std::string diff = LineDiff(a, b, {.context = 100});
    if (a == b) continue;
    CHECK(Patched(diff.substr(diff.find('\n') + 1)) == b);
  }
}

}  // namespace
}  // namespace hlo
