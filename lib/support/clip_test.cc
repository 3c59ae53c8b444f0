#include "lib/support/clip.h"

#include <catch2/catch.hpp>

namespace hlo {

TEST_CASE("messages of usual length stay as they are", "[support][clip]") {
  const std::string message = "`" + std::string(400, 'a') + "` is `b`";
  CHECK(ClipQuotes(message) == message);
}

TEST_CASE("very long quotes lose their middle", "[support][clip]") {
  const std::string head(119, 'a'), tail(40, 'z');  // the backtick is the first of 120 bytes
  const std::string message = "`" + head + std::string(5000, 'm') + tail + "` is `b`";
  CHECK(ClipQuotes(message) == "`" + head + "..." + tail + "` is `b`");
  // So do words outside of quotes; an opening backtick without a closing one opens none.
  const std::string word(3000, 'x');
  CHECK(ClipQuotes("` " + word + " y") ==
        "` " + word.substr(0, 119) + "..." + word.substr(0, 40) + " y");
}

TEST_CASE("clipping does not split a character", "[support][clip]") {
  std::string quote = std::string(118, 'a');
  for (int i = 0; i < 1000; ++i) quote += "\xc3\xa9";
  const std::string clipped = ClipQuotes("`" + quote + "`");
  CHECK(clipped.substr(0, 123) == "`" + std::string(118, 'a') + "..." + "\xc3");
  CHECK(clipped[123] == '\xa9');
}

}  // namespace hlo
