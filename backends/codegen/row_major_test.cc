#include "backends/codegen/row_major.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

absl::Status Checked(std::string_view shape) {
  const std::string text = std::string("HloModule m\nENTRY e {\n  p = ") + std::string(shape) +
                           " parameter(0)\n  ROOT r = " + std::string(shape) + " copy(p)\n}\n";
  return CheckRowMajor(*ParsedModule(text));
}

TEST_CASE("code generators take row-major arrays", "[codegen][layout]") {
  CHECK(Checked("f32[2,3]{1,0}").ok());
  CHECK(Checked("f32[2,3]").ok());
  CHECK(Checked("f32[]").ok());
  const absl::Status other = Checked("f32[2,3]{0,1}");
  REQUIRE(!other.ok());
  CHECK(std::string(ToStd(other.message())).find("`p` is `f32[2,3]{0,1}`") != std::string::npos);
  CHECK(!Checked("f32[8]{0:T(8)}").ok());
  CHECK(!Checked("f32[8]{0:S(5)}").ok());
}

}  // namespace
}  // namespace hlo
