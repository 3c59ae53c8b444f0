#include "tools/support/shell_words.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("a line is taken apart as a shell does it", "[support][shell]") {
  CHECK(*ShellWords("") == Words{});
  CHECK(*ShellWords("  --passes=dce   -o x ") == Words{"--passes=dce", "-o", "x"});
  CHECK(*ShellWords("--passes='a,b{c=1 2}' ''") == Words{"--passes=a,b{c=1 2}", ""});
  CHECK(*ShellWords(R"(a\ b "c \"d\" \n" 'e\' f\)") ==
        Words{"a b", R"(c "d" \n)", R"(e\)", R"(f\)"});
  CHECK(*ShellWords("$HOME *.hlo") == Words{"$HOME", "*.hlo"});
}

TEST_CASE("quoted words come back as they were", "[support][shell]") {
  const Words words = {"plain",      "",      "it's",       "two words",
                       "--flag=a b", R"(\")", "line\nline", "$(x)"};
  std::string line;
  for (const std::string& word : words) line += ShellQuoted(word) + " ";
  CHECK(*ShellWords(line) == words);
}

TEST_CASE("an open quote is an error", "[support][shell]") {
  const auto words = ShellWords("--passes='dce");
  REQUIRE_FALSE(words.ok());
  CHECK(ToStd(words.status().message()) == "a quote `'` is not closed in `--passes='dce`");
}

}  // namespace
}  // namespace hlo
