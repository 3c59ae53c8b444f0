#include "lib/support/file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "lib/support/strings.h"

namespace hlo {

TEST_CASE("files are read up to a limit", "[support][file]") {
  const std::string path = std::filesystem::temp_directory_path() / "hlo_file_test.txt";
  REQUIRE(WriteFile(path, "0123456789").ok());
  CHECK(*ReadFile(path) == "0123456789");
  CHECK(*ReadFile(path, 10) == "0123456789");
  const absl::StatusOr<std::string> longer = ReadFile(path, 9);
  REQUIRE_FALSE(longer.ok());
  CHECK(std::string(ToStd(longer.status().message())).find("more than 9 bytes") !=
        std::string::npos);
  unlink(path.c_str());
}

TEST_CASE("devices without an end are refused", "[support][file]") {
  CHECK_FALSE(ReadFile("/dev/zero").ok());
  CHECK_FALSE(ReadFile("/dev/urandom", 1 << 20).ok());
  CHECK(ReadFile("/dev/null")->empty());
}

TEST_CASE("what cannot be written is known before", "[support][file]") {
  const std::string folder = std::filesystem::temp_directory_path() / "hlo_file_test";
  std::filesystem::remove_all(folder);
  CHECK_FALSE(CheckWritable(folder + "/x").ok());
  REQUIRE(MakeFolder(folder).ok());
  CHECK(MakeFolder(folder).ok());
  CHECK(CheckWritable(folder + "/x").ok());
  CHECK(std::filesystem::is_empty(folder));
  CHECK_FALSE(CheckWritable(folder).ok());
  CHECK(CheckWritable("/dev/null").ok());
  CHECK(CheckWritable("-").ok());
  REQUIRE(WriteFile(folder + "/x", "x").ok());
  CHECK_FALSE(MakeFolder(folder + "/x").ok());
  std::filesystem::remove_all(folder);
}

}  // namespace hlo
