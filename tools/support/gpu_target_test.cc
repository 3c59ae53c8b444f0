#include "tools/support/gpu_target.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

TEST_CASE("a description of a GPU says which target it is", "[tools][gpu-target]") {
  const auto target = [](std::string_view text) { return GpuTargetOfConfig(text, "f"); };
  CHECK(
      *target(
          "gpu_device_info {\n  cuda_compute_capability {\n    major: 9\n    minor: 0\n  }\n}\n") ==
      "sm_90");
  CHECK(*target("gpu_device_info { cuda_compute_capability: { minor: 6 major: 8 } }") == "sm_86");
  CHECK(*target("cuda_compute_capability { major: 10 feature_extension: X }") == "sm_100");
  CHECK(target("rocm_compute_capability { gcn_arch_name: \"gfx90a\" }")
            .status()
            .message()
            .find("expected `cuda_compute_capability") != std::string_view::npos);
  CHECK(target("cuda_compute_capability { minor: 0 }").status().message().find("no `major: N`") !=
        std::string_view::npos);
  CHECK(*GpuTarget("sm_80", "/nowhere") == "sm_80");
  CHECK(GpuTarget("", "")->empty());
  CHECK_FALSE(GpuTarget("", "/nowhere").ok());
}

}  // namespace
}  // namespace hlo
