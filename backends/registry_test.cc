#include "backends/registry.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"

namespace hlo {
namespace {

TEST_CASE("platforms are found by name and by alias", "[backends][registry]") {
  const auto interpreter = FindBackend("interpreter");
  REQUIRE(interpreter.ok());
  CHECK((*interpreter)->name() == "interpreter");
  CHECK(*FindBackend("Interpreter") == *interpreter);
}

TEST_CASE("every row of the table makes a back end of its name", "[backends][registry]") {
  REQUIRE(AllBackends().size() >= 1);
  for (const BackendInfo& info : AllBackends()) {
    const auto backend = FindBackend(info.name);
    REQUIRE(backend.ok());
    CHECK((*backend)->name() == info.name);
  }
}

TEST_CASE("an unknown platform is named with the close one and the list", "[backends][registry]") {
  const auto missing = FindBackend("interpeter");
  REQUIRE_FALSE(missing.ok());
  const std::string message(ToStd(missing.status().message()));
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "unknown platform `interpeter`; did you mean `interpreter`?"));
  CHECK_THAT(message, Catch::Matchers::Contains("there are interpreter"));
}

}  // namespace
}  // namespace hlo
