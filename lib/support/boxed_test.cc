#include "lib/support/boxed.h"

#include <catch2/catch.hpp>
#include <string>

namespace hlo {
namespace {

TEST_CASE("a boxed value is copied with its box and compares by value", "[support][boxed]") {
  Boxed<std::string> none;
  Boxed<std::string> a = std::string("a");
  Boxed<std::string> copy = a;
  CHECK(copy == a);
  CHECK_FALSE(none == a);
  CHECK(none == Boxed<std::string>());
  *copy += "b";
  CHECK(*a == "a");
  copy = none;
  CHECK_FALSE(copy.has_value());
  copy = a;
  CHECK(copy->size() == 1);
  a.reset();
  CHECK_FALSE(a);
  CHECK(a.emplace().empty());
  CHECK(sizeof(a) == sizeof(void*));
}

}  // namespace
}  // namespace hlo
