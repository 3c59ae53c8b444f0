// What a killed process leaves.
#include "lib/support/temporary.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  const auto in_child = [&](const auto& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  };
  in_child([&] {  // ends with a file and a folder that it has not put away
    std::string file = TemporaryPattern(shared), directory = TemporaryPattern(shared);
    close(mkstemp(file.data()));
    std::ofstream(std::string(mkdtemp(directory.data())) + "/a") << "text";
  });
  const auto count = [&] {
    return std::distance(fs::directory_iterator(shared), fs::directory_iterator());
  };
  CHECK(count() == 2);
  std::ofstream(shared + "/.hlo-tmp.00000000.1.abcdef") << "of another machine";
  in_child([&] { _exit(WriteFile(shared + "/result", "text").ok() ? 0 : 1); });
  CHECK(count() == 2);
  CHECK(*ReadFile(shared + "/result") == "text");
  CHECK(fs::exists(shared + "/.hlo-tmp.00000000.1.abcdef"));
}

}  // namespace
}  // namespace hlo
