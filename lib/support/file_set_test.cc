// Files that appear together or not at all.
#include "lib/support/file_set.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "lib/support/file.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

struct TemporaryFolder {
  TemporaryFolder() { path = mkdtemp(name); }
  int entries() const {
    DIR* folder = opendir(path.c_str());
    int count = -2;  // the folder itself and the one it is in
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
  }
  char name[32] = "/tmp/file_set_test.XXXXXX";
  std::string path;
};

}  // namespace

TEST_CASE("files of a set appear with Commit", "[support][file_set]") {
  const TemporaryFolder folder;
  const std::string a = folder.path + "/a", b = folder.path + "/b";
  FileSet files;
  REQUIRE(files.Add(a, "one").ok());
  REQUIRE(files.Add(b, "two").ok());
  CHECK_FALSE(ReadFile(a).ok());
  REQUIRE(files.Commit().ok());
  CHECK(*ReadFile(a) == "one");
  CHECK(*ReadFile(b) == "two");
  CHECK(folder.entries() == 2);
}

TEST_CASE("a set that fails leaves earlier files as they were", "[support][file_set]") {
  const TemporaryFolder folder;
  const std::string a = folder.path + "/a", b = folder.path + "/b";
  REQUIRE(WriteFile(a, "before").ok());
  REQUIRE(mkdir(b.c_str(), 0777) == 0);
  {
    FileSet files;
    REQUIRE(files.Add(a, "after").ok());
    const absl::Status status = files.Add(b, "two");
    CHECK(std::string(status.message()) == "cannot write `" + b + "`: it is a folder");
  }
  CHECK(*ReadFile(a) == "before");
  CHECK(folder.entries() == 2);
}

}  // namespace hlo
