// Streams, events and memory of the simulated device, and what the recording fake refuses. Kernels
// on the simulator, and what its sanitizer finds in wrong ones: testdata/gpu_sim.

#include <catch2/catch.hpp>
#include <vector>

#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

TEST_CASE("streams wait for each other's events only where they are told to", "[gpu][simulator]") {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    auto device = *MakeSimulatedDevice({seed, false});
    auto first = *device->CreateStream();
    auto second = *device->CreateStream();
    auto done = *device->CreateEvent();
    const DevicePtr a = *device->Allocate(4);
    const DevicePtr b = *device->Allocate(4);
    const uint32_t value = 17;
    uint32_t got = 0;
    CHECK_FALSE(second->Wait(*done).ok());
    CHECK(first->CopyToDevice(a, &value, 4).ok());
    CHECK(first->Record(*done).ok());
    CHECK(second->Wait(*done).ok());
    CHECK(second->CopyOnDevice(b, a, 4).ok());
    CHECK(second->CopyToHost(&got, b, 4).ok());
    CHECK(second->Synchronize().ok());
    CHECK(got == 17);
  }
}

TEST_CASE("device memory is limited and balanced", "[gpu][simulator]") {
  SimulatorOptions options;
  options.memory_bytes = 1000;
  auto device = *MakeSimulatedDevice(options);
  const DevicePtr a = *device->Allocate(900);
  const auto b = device->Allocate(200);
  REQUIRE_FALSE(b.ok());
  CHECK_THAT(std::string(ToStd(b.status().message())),
             Catch::Matchers::Contains("out of device memory: 200 bytes wanted, 900 of 1000"));
  CHECK(device->Free(a).ok());
  CHECK_FALSE(device->Free(a).ok());
  CHECK(device->Allocate(200).ok());
}

TEST_CASE("the recording fake refuses what the interface forbids", "[gpu][recording]") {
  RecordingDevice device;
  DeviceCode code;
  code.kernels = {{"k"}};
  auto module = *device.LoadModule(code);
  CHECK_FALSE(module->Find("other").ok());
  auto stream = *device.CreateStream();
  auto event = *device.CreateEvent();
  CHECK_FALSE(stream->Wait(*event).ok());
  CHECK(stream->Record(*event).ok());
  CHECK(stream->Wait(*event).ok());
  const DevicePtr memory = *device.Allocate(64);
  Launch launch;
  launch.kernel = *module->Find("k");
  launch.name = "add";
  launch.dims.block = 32;
  const KernelArgument right[] = {KernelArgument::Buffer(memory, 64)};
  launch.arguments = right;
  CHECK(stream->LaunchKernel(launch).ok());
  const KernelArgument beyond[] = {KernelArgument::Buffer(memory + 32, 64)};
  launch.arguments = beyond;
  CHECK_FALSE(stream->LaunchKernel(launch).ok());
  launch.arguments = right;
  launch.dims.block = 2048;
  CHECK_FALSE(stream->LaunchKernel(launch).ok());
  CHECK(device.live_allocations() == 1);
  CHECK(device.Free(memory).ok());
  CHECK_FALSE(device.Free(memory).ok());
  CHECK(device.calls().back() == "free");
}

}  // namespace
}  // namespace hlo::gpu
