// Kernels written by hand, on the simulator: what they compute, and what its sanitizer finds in
// wrong ones.
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kDeclarations = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
@tile = internal addrspace(3) global [64 x float] poison, align 16
)";

DeviceCode CodeOf(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::string text = std::string(kDeclarations) + body;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  INFO(problem.getMessage().str());
  REQUIRE(module != nullptr);
  DeviceCode code;
  llvm::raw_string_ostream stream(code.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  code.kernels = {"k"};
  return code;
}

// Runs kernel `k(in, out)` on 64 floats 0, 1, …; gives the output or the error's text.
struct Outcome {
  std::vector<float> values;
  std::string error;
};
Outcome RunKernel(const std::string& body, SimulatorOptions options, int blocks = 1,
                  int threads = 64) {
  auto device = MakeSimulatedDevice(options);
  REQUIRE(device.ok());
  auto module = (*device)->LoadModule(CodeOf(body));
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0f);
  constexpr int64_t kBytes = 64 * sizeof(float);
  const DevicePtr in = *(*device)->Allocate(kBytes);
  const DevicePtr out = *(*device)->Allocate(kBytes);
  auto stream = *(*device)->CreateStream();
  REQUIRE(stream->CopyToDevice(in, values.data(), kBytes).ok());
  const KernelArgument arguments[] = {KernelArgument::Buffer(in, kBytes),
                                      KernelArgument::Buffer(out, kBytes)};
  Launch launch;
  launch.kernel = *(*module)->Find("k");
  launch.dims.grid[0] = blocks;
  launch.dims.block = threads;
  launch.arguments = arguments;
  launch.name = "sum";
  REQUIRE(stream->LaunchKernel(launch).ok());
  REQUIRE(stream->CopyToHost(values.data(), out, kBytes).ok());
  const absl::Status status = stream->Synchronize();
  return {values, std::string(ToStd(status.message()))};
}

// Reverses 64 numbers through shared memory; %barrier and %index are holes.
std::string Reverse(std::string_view barrier, std::string_view index = "%rev") {
  return fmt::format(R"(
define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %v, ptr addrspace(3) %s
  {}
  %rev = sub i32 63, %t
  %s2 = getelementptr float, ptr addrspace(3) @tile, i32 {}
  %w = load float, ptr addrspace(3) %s2
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %w, ptr addrspace(1) %q
  ret void
}})",
                     barrier, index);
}
constexpr std::string_view kBarrier = "call void @llvm.nvvm.barrier0()";

TEST_CASE("threads meet at barriers and share memory, whatever the schedule", "[gpu][simulator]") {
  for (const uint64_t seed : {0, 1, 2, 7}) {
    for (const bool sanitize : {false, true}) {
      CAPTURE(seed, sanitize);
      const Outcome outcome = RunKernel(Reverse(kBarrier), {seed, sanitize});
      CHECK(outcome.error == "");
      for (int i = 0; i < 64; ++i) CHECK(outcome.values[static_cast<size_t>(i)] == 63.0f - i);
    }
  }
}

constexpr std::string_view kWarpSum = R"(
define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load i32, ptr addrspace(1) %p
  %x = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %v, i32 16, i32 31)
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store i32 %x, ptr addrspace(1) %q
  ret void
})";

TEST_CASE("a shuffle takes the value of another lane, or its own at the warp's end",
          "[gpu][simulator]") {
  for (const uint64_t seed : {0, 5}) {
    const Outcome outcome = RunKernel(std::string(kWarpSum), {seed, true});
    CHECK(outcome.error == "");
    for (int i = 0; i < 64; ++i) {
      CHECK(outcome.values[static_cast<size_t>(i)] == static_cast<float>(i % 32 < 16 ? i + 16 : i));
    }
  }
}

TEST_CASE("the sanitizer finds a removed barrier", "[gpu][sanitizer]") {
  const Outcome outcome = RunKernel(Reverse(""), {0, true});
  CHECK_THAT(outcome.error, Catch::Matchers::Contains("kernel of `sum`"));
  CHECK_THAT(outcome.error,
             Catch::Matchers::Contains("reads shared memory that no thread has written"));
}

TEST_CASE("the sanitizer finds a race of which the order hides the effect", "[gpu][sanitizer]") {
  // Thread t reads what thread t - 1 wrote: right in natural order, without a barrier.
  std::string body = Reverse("", "%prev");
  body.replace(body.find("%rev = sub i32 63, %t"), 21,
               "%m = sub i32 %t, 1\n  %prev = call i32 "
               "@llvm.smax.i32(i32 %m, i32 0)");
  body += "\ndeclare i32 @llvm.smax.i32(i32, i32)";
  const Outcome plain = RunKernel(body, {0, false});
  CHECK(plain.values[5] == 4.0f);
  const Outcome watched = RunKernel(body, {0, true});
  CHECK_THAT(watched.error, Catch::Matchers::Contains("a race in shared memory"));
}

TEST_CASE("the sanitizer finds an index off by one", "[gpu][sanitizer]") {
  std::string shared = Reverse(kBarrier);
  shared.replace(shared.find("63, %t"), 6, "64, %t");
  CHECK_THAT(RunKernel(shared, {0, true}).error,
             Catch::Matchers::Contains("at offset 256 of 256 bytes of shared memory"));
  std::string global = Reverse(kBarrier);
  global.replace(global.find("%q = getelementptr float, ptr addrspace(1) %out, i32 %t"), 55,
                 "%u = add i32 %t, 1\n  %q = getelementptr float, ptr addrspace(1) %out, i32 %u");
  CHECK_THAT(RunKernel(global, {0, true}).error,
             Catch::Matchers::Contains("out of bounds: offset 256 of argument 1"));
}

TEST_CASE("the sanitizer finds a misaligned vector access", "[gpu][sanitizer]") {
  const std::string body = R"(
define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %p = getelementptr float, ptr addrspace(1) %in, i32 1
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  store <4 x float> %v, ptr addrspace(1) %out, align 16
  ret void
})";
  CHECK_THAT(RunKernel(body, {0, true}, 1, 1).error, Catch::Matchers::Contains("is misaligned"));
}

TEST_CASE("the sanitizer finds two blocks that write one element", "[gpu][sanitizer]") {
  CHECK(RunKernel(Reverse(kBarrier), {0, false}, 2).error == "");
  CHECK_THAT(RunKernel(Reverse(kBarrier), {0, true}, 2).error,
             Catch::Matchers::Contains("a race in global memory"));
}

TEST_CASE("a barrier that some threads do not reach is an error", "[gpu][simulator]") {
  const std::string body = R"(
define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp ult i32 %t, 40
  br i1 %c, label %some, label %end
some:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
  ret void
})";
  CHECK_THAT(RunKernel(body, {0, false}).error, Catch::Matchers::Contains("divergent barrier"));
}

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
  code.kernels = {"k"};
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
