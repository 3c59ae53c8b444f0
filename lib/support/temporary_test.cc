// What a killed process leaves.
#include "lib/support/temporary.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/support/child_test_util.h"
#include "lib/support/file.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the folder of a file", "[support][temporary]") {
  CHECK(FolderOfFile("a") == ".");
  CHECK(FolderOfFile("/a") == "/");
  CHECK(FolderOfFile("x/y/a") == "x/y");
}

TEST_CASE("a temporary folder goes with its object", "[support][temporary]") {
  std::string file;
  {
    const auto folder = TemporaryFolder::Make();
    REQUIRE(folder.ok());
    file = (*folder)->In("a");
    REQUIRE(WriteFile(file, "text").ok());
    CHECK(fs::exists(file));
  }
  CHECK_FALSE(fs::exists(FolderOfFile(file)));
}

TEST_CASE("what a killed process leaves is removed by the next one", "[support][temporary]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string shared = (*folder)->In("shared");
  REQUIRE(MakeFolder(shared).ok());
  const ChildEnd first = EndOfChild([&] {  // leaves a file and a folder
    std::string file = TemporaryPattern(shared), directory = TemporaryPattern(shared);
    close(mkstemp(file.data()));
    std::ofstream(std::string(mkdtemp(directory.data())) + "/a") << "text";
    return 0;
  });
  CHECK(first.ok());
  const auto count = [&] {
    return std::distance(fs::directory_iterator(shared), fs::directory_iterator());
  };
  CHECK(count() == 2);
  std::ofstream(shared + "/.hlo-tmp.00000000.1.abcdef") << "of another machine";
  CHECK(EndOfChild([&] { return WriteFile(shared + "/result", "text").ok() ? 0 : 1; }).ok());
  CHECK(count() == 2);
  CHECK(*ReadFile(shared + "/result") == "text");
  CHECK(fs::exists(shared + "/.hlo-tmp.00000000.1.abcdef"));
}

}  // namespace
}  // namespace hlo
