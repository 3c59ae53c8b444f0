#include "lib/support/archive.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

constexpr std::string_view kKind = "Test archive 3";

std::string Packed() { return PackArchive(kKind, {{"text", "two\nlines\n"}, {"nothing", ""}}); }

std::string ErrorOf(std::string_view bytes) {
  const auto parts = UnpackArchive(kKind, bytes);
  return parts.ok() ? "" : std::string(parts.status().message());
}

TEST_CASE("parts come back as they went in", "[archive]") {
  const std::string file = Packed();
  CHECK(IsArchive(kKind, file));
  CHECK(file.starts_with("Test archive 3\ntext 10 "));
  const auto parts = UnpackArchive(kKind, file);
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 2);
  CHECK((*parts)[0].name == "text");
  CHECK((*parts)[0].bytes == "two\nlines\n");
  CHECK((*parts)[1].name == "nothing");
  CHECK((*parts)[1].bytes.empty());
}

TEST_CASE("every prefix of an archive, and every changed byte, is found out", "[archive]") {
  const std::string file = Packed();
  for (size_t size = 0; size < file.size(); ++size) {
    INFO(size);
    CHECK(!ErrorOf(std::string_view(file).substr(0, size)).empty());
    std::string changed = file;
    changed[size] ^= 1;
    CHECK(!ErrorOf(changed).empty());
  }
}

TEST_CASE("what is wrong with an archive is said", "[archive]") {
  const std::string file = Packed();
  CHECK(ErrorOf("HloModule m") == "it does not begin with `Test archive 3`");
  CHECK(ErrorOf("Test archive 2\n\n") ==
        "it is `Test archive 2`, this program reads `Test archive 3`");
  CHECK(ErrorOf("Test archive 3\ntext ten 0\n\n") ==
        "the file is damaged: `text ten 0` names no part of it");
  CHECK(ErrorOf(file + "x") == "the file is damaged: there is more in it than its parts");
  CHECK(ErrorOf(file.substr(0, file.size() - 1)) == "the file is damaged: `text` is not whole");
  std::string changed = file;
  changed[changed.size() - 2] = 'z';
  CHECK(ErrorOf(changed) == "the file is damaged: the bytes of `text` have changed");
}

}  // namespace
}  // namespace hlo
