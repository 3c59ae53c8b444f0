// Files that appear together or not at all.
#include "lib/support/file_set.h"

#include <dirent.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/temporary.h"

namespace hlo {
namespace {

int EntriesOf(const TemporaryFolder& folder) {
  DIR* entries = opendir(folder.In("").c_str());
  int count = -2;  // the folder itself and the one it is in
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

}  // namespace

TEST_CASE("files of a set appear with Commit", "[support][file_set]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string a = (*folder)->In("a"), b = (*folder)->In("b");
  FileSet files;
  REQUIRE(files.Add(a, "one").ok());
  REQUIRE(files.Add(b, "two").ok());
  CHECK_FALSE(ReadFile(a).ok());
  REQUIRE(files.Commit().ok());
  CHECK(*ReadFile(a) == "one");
  CHECK(*ReadFile(b) == "two");
  CHECK(EntriesOf(**folder) == 2);
}

TEST_CASE("a set that fails leaves earlier files as they were", "[support][file_set]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string a = (*folder)->In("a"), b = (*folder)->In("b");
  REQUIRE(WriteFile(a, "before").ok());
  REQUIRE(mkdir(b.c_str(), 0777) == 0);
  {
    FileSet files;
    REQUIRE(files.Add(a, "after").ok());
    const absl::Status status = files.Add(b, "two");
    CHECK(std::string(status.message()) == "cannot write `" + b + "`: it is a folder");
  }
  CHECK(*ReadFile(a) == "before");
  CHECK(EntriesOf(**folder) == 2);
}

}  // namespace hlo
