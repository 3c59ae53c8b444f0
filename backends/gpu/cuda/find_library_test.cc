// Where libraries are looked for.
#include "backends/gpu/cuda/find_library.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace hlo::gpu {
namespace {

namespace fs = std::filesystem;

TEST_CASE("libraries and programs are found in the packages beside python3", "[gpu][cuda]") {
  std::string pattern = (fs::temp_directory_path() / "hlo-packages-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  const fs::path root = pattern;
  const auto touch = [&](const std::string& name) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << "x";
    return (root / name).string();
  };
  touch("real/bin/python3");
  fs::create_directories(root / "env/bin");
  fs::create_symlink(root / "real/bin/python3", root / "env/bin/python3");
  const std::string own = touch("env/lib/python3.11/site-packages/nvidia/cu13/lib/libx.so.13");
  const std::string old = touch("real/lib/python3.11/dist-packages/nvidia/x/lib/libx.so.12");
  touch("real/lib/python3.11/dist-packages/nvidia/x/lib/libother.so.12");
  touch("none/lib/python3.11/site-packages/nvidia/x/lib/libx.so.12");  // there is no python3

  const std::vector<std::string> toolkit = PlacesOfLibrary("libx.so", "");
  REQUIRE(toolkit.size() == 4);
  CHECK(toolkit[0] == "libx.so.13");
  CHECK(toolkit[1] == "libx.so.12");
  std::vector<std::string> all = toolkit;
  all.push_back(own);
  all.push_back(old);
  const std::string path =
      (root / "none" / "bin").string() + "::" + (root / "env" / "bin").string();
  CHECK(PlacesOfLibrary("libx.so", path) == all);

  const std::string in_path = touch("env/bin/ptxas");
  const std::string package = touch("env/lib/python3.11/site-packages/nvidia/cuda_nvcc/bin/ptxas");
  const std::string triton =
      touch("real/lib/python3.11/dist-packages/triton/backends/nvidia/bin/ptxas");
  std::vector<std::string> programs = PlacesOfProgram("ptxas", path);
  programs.erase(std::remove(programs.begin(), programs.end(), "/usr/local/cuda/bin/ptxas"),
                 programs.end());
  CHECK(programs == std::vector<std::string>{in_path, package, triton});
  fs::remove_all(root);
}

}  // namespace
}  // namespace hlo::gpu
