#include "lib/support/line_table.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "lib/support/diagnostic.h"

namespace hlo {

TEST_CASE("a table of lines and a search from the start find the same", "[support][source]") {
  for (const char* text : {"", "x", "x\n", "\n", "ab\n\nc\r\nlast", "\n\n\n"}) {
    const Source source("t", text);
    const LineTable table(source);
    for (uint32_t offset = 0; offset < 14; ++offset) {
      CAPTURE(text, offset);
      CHECK(table.Locate(offset).line == source.Locate(offset).line);
      CHECK(table.Locate(offset).column == source.Locate(offset).column);
    }
  }
}

TEST_CASE("many messages about a long text take little time", "[support][source]") {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "x = f32[] y\n";
  const Source source("t", text);
  std::vector<Diagnostic> messages;
  for (uint32_t i = 0; i < 10'000; ++i)
    messages.push_back({Severity::kWarning, {i * 240, 1}, "odd"});
  const auto start = std::chrono::steady_clock::now();
  const std::string rendered = Render(messages, &source);
  // A scan from the start for each of them takes ten times as long.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(rendered.ends_with("t:199981:1: warning: odd\nx = f32[] y\n^\n"));
}

}  // namespace hlo
