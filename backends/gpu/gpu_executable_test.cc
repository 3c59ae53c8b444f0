// The executor against the recording fake: what it asks of a device, and that it keeps the rules.
#include "backends/gpu/gpu_executable.h"

#include <catch2/catch.hpp>

#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/program.h"
#include "lib/support/strings.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kTwoKernels = R"(HloModule m

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}

ENTRY main {
  x = f32[64] parameter(0)
  c = f32[3] constant({1, 2, 3})
  s = f32[64] sort(x), dimensions={0}, to_apply=less
  ROOT t = (f32[64], f32[3]) tuple(s, c)
}
)";

absl::StatusOr<std::unique_ptr<GpuExecutable>> MakeOn(std::shared_ptr<RecordingDevice> device) {
  auto module = ParseModule(kTwoKernels);
  REQUIRE(module.ok());
  auto program = EmitProgram(**module, {});
  REQUIRE(program.ok());
  std::vector<DeviceCode> codes(1);
  for (size_t i = 0; i < program->kernels.size(); ++i)
    codes[0].kernels.push_back(fmt::format("k{}", i));
  return GpuExecutable::Make(*std::move(module), std::move(device), *std::move(program), codes);
}

TEST_CASE("a run launches kernels and copies, and allocates nothing", "[gpu][executable]") {
  const auto device = std::make_shared<RecordingDevice>();
  {
    auto executable = MakeOn(device);
    REQUIRE(executable.ok());
    CHECK(device->live_allocations() == 1);
    const Literal argument(Shape::Array(ElementType::kF32, {64}));
    auto prepared = (*executable)->Prepare({argument}, {});
    REQUIRE(prepared.ok());
    const size_t before = device->calls().size();
    REQUIRE((*prepared)->Run().ok());
    const std::vector<std::string> calls(
        device->calls().begin() + static_cast<std::ptrdiff_t>(before), device->calls().end());
    // 64 elements: six passes of the merge sort, the constant to its result, one wait.
    CHECK(std::count(calls.begin(), calls.end(), "s0: launch s grid=1 block=128 arguments=4") == 6);
    CHECK(std::count(calls.begin(), calls.end(), "s0: copy 12") == 1);
    CHECK(calls.back() == "s0: synchronize");
    CHECK(calls.size() == 8);
    CHECK((*prepared)->Result().ok());
  }
  CHECK(device->live_allocations() == 0);
}

TEST_CASE("a full device is an error that says so", "[gpu][executable]") {
  const auto device = std::make_shared<RecordingDevice>();
  device->FailNextAllocation();
  const auto executable = MakeOn(device);
  REQUIRE_FALSE(executable.ok());
  CHECK(executable.status().code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(ToStd(executable.status().message())),
             Catch::Matchers::Contains("bytes of device memory"));
}

}  // namespace
}  // namespace hlo::gpu
