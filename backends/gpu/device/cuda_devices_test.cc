// Which GPUs a process takes.
#include "backends/gpu/device/cuda_devices.h"

#include <catch2/catch.hpp>

namespace hlo::gpu {
namespace {

using Ordinals = std::vector<int>;

TEST_CASE("a process takes a GPU for each device that it runs", "[gpu][device]") {
  CHECK(OrdinalsFor(4, 8, {1, 0}) == Ordinals{0, 1, 2, 3});
  CHECK(OrdinalsFor(4, 4, {2, 1}) == Ordinals{2, 3});
  CHECK(OrdinalsFor(8, 4, {8, 2}) == Ordinals{2});
  CHECK(OrdinalsFor(1, 4, {1, 0}) == Ordinals{0});
}

TEST_CASE("where there are too few, a process takes one", "[gpu][device]") {
  CHECK(OrdinalsFor(4, 2, {1, 0}) == Ordinals{0});
  CHECK(OrdinalsFor(4, 2, {4, 3}) == Ordinals{1});
  CHECK(OrdinalsFor(2, 0, {1, 0}) == Ordinals{0});  // which says that there is none
}

}  // namespace
}  // namespace hlo::gpu
