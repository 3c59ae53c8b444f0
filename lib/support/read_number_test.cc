#include "lib/support/read_number.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace hlo {
namespace {

TEST_CASE("a number is the whole text", "[support][read-number]") {
  CHECK(ReadNumber<int64_t>("-12") == -12);
  CHECK(ReadNumber<uint64_t>("ff", 16) == 255);
  CHECK(ReadNumber<double>("2.5e3") == 2500.0);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1x", "x", "9223372036854775808"}) {
    INFO(text);
    CHECK_FALSE(ReadNumber<int64_t>(text).has_value());
  }
  CHECK_FALSE(ReadNumber<uint64_t>("-1").has_value());
  CHECK_FALSE(ReadNumber<double>("1e999").has_value());
}

TEST_CASE("what is no number changes nothing", "[support][read-number]") {
  int64_t number = 7;
  CHECK_FALSE(ReadNumberTo("1,2", number));
  CHECK(number == 7);
  CHECK(ReadNumberTo("12", number));
  CHECK(number == 12);
  std::string_view text = "x1";
  CHECK_FALSE(TakeNumber<int64_t>(text).has_value());
  CHECK(text == "x1");
}

TEST_CASE("a number is taken off the text", "[support][read-number]") {
  std::string_view text = "12:3";
  CHECK(TakeNumber<int64_t>(text) == 12);
  CHECK(text == ":3");
}

}  // namespace
}  // namespace hlo
