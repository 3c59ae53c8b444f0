// The executor against the recording fake: what it asks of a device, and that it keeps the rules.
#include "backends/gpu/gpu_executable.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "backends/common/buffer_run.h"
#include "backends/common/thunk_profile.h"
#include "backends/gpu/device/caching_device.h"
#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/device/staging.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/program.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/support/strings.h"
#include "parser/parser.h"

namespace {
// Requests of this thread to the heap since it began.
thread_local int64_t heap_requests = 0;
}  // namespace

// For the whole test program: counts, and does what the usual ones do.
void* operator new(size_t bytes) {
  ++heap_requests;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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
  d = f32[3] copy(c)
  ROOT t = (f32[64], f32[3]) tuple(s, d)
}
)";

constexpr std::string_view kTwoArguments = R"(HloModule m

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[8] parameter(1)
  z = f32[2] parameter(2)
  a = f32[4] negate(x)
  b = f32[8] sine(y)
  c = f32[2] copy(z)
  ROOT t = (f32[4], f32[8], f32[2]) tuple(a, b, c)
}
)";

absl::StatusOr<std::unique_ptr<GpuExecutable>> MakeOn(std::shared_ptr<Device> device,
                                                      std::string_view text = kTwoKernels,
                                                      bool graphs = false) {
  auto module = ParseModule(text);
  REQUIRE(module.ok());
  CompileOptions options;
  options.gpu.multiprocessors = device->properties().multiprocessors;
  options.gpu.merge_steps = false;
  options.gpu.graphs = graphs;
  auto program = EmitProgram(**module, options);
  REQUIRE(program.ok());
  std::vector<DeviceCode> codes(1);
  for (size_t i = 0; i < program->kernels.size(); ++i)
    codes[0].kernels.push_back({fmt::format("k{}", i)});
  return GpuExecutable::Make(*std::move(module), {{std::move(device)}, nullptr},
                             *std::move(program), codes);
}

TEST_CASE("a run launches kernels and copies, and allocates nothing", "[gpu][executable]") {
  const auto device = std::make_shared<RecordingDevice>();
  {
    auto executable = MakeOn(device);
    REQUIRE(executable.ok());
    CHECK(device->live_allocations() == 1);  // constants
    const Literal argument(Shape::Array(ElementType::kF32, {64}));
    auto prepared = (*executable)->Prepare({argument}, {});
    REQUIRE(prepared.ok());
    // The memory of the state, and pinned memory: two slots, and a place for predicates.
    CHECK(device->live_allocations() == 5);
    const size_t before = device->calls().size();
    REQUIRE((*prepared)->Run().ok());
    const std::vector<std::string> calls(
        device->calls().begin() + static_cast<std::ptrdiff_t>(before), device->calls().end());
    // 64 elements are sorted by one block; the constant to its result, one wait.
    CHECK(std::count(calls.begin(), calls.end(), "s1: launch s grid=1 block=256 arguments=2") == 1);
    CHECK(std::count(calls.begin(), calls.end(), "s1: copy 12") == 1);
    CHECK(calls.back() == "s1: synchronize");
    CHECK(calls.size() == 3);
    CHECK((*prepared)->Result().ok());
  }
  CHECK(device->live_allocations() == 0);
}

TEST_CASE("what is launched again and again is launched as a graph", "[gpu][executable]") {
  const auto device = std::make_shared<RecordingDevice>();
  auto executable = MakeOn(device, kTwoArguments, /*graphs=*/true);
  REQUIRE(executable.ok());
  const std::vector<Literal> arguments = {Literal(Shape::Array(ElementType::kF32, {4})),
                                          Literal(Shape::Array(ElementType::kF32, {8})),
                                          Literal(Shape::Array(ElementType::kF32, {2}))};
  auto prepared = (*executable)->Prepare(arguments, {});
  REQUIRE(prepared.ok());
  const auto calls_of_run = [&] {
    const size_t before = device->calls().size();
    REQUIRE((*prepared)->Run().ok());
    return std::vector<std::string>(device->calls().begin() + static_cast<std::ptrdiff_t>(before),
                                    device->calls().end());
  };
  CHECK(calls_of_run().size() == 4);  // two kernels, a copy, a wait
  const std::vector<std::string> second = calls_of_run();
  REQUIRE(second.size() == 7);
  CHECK(second.front() == "s0: begin capture");
  CHECK(second[4] == "s0: end capture");
  CHECK(second[5] == "s0: launch graph");
  CHECK(calls_of_run() == std::vector<std::string>{"s0: launch graph", "s0: synchronize"});
  // A profile sees the kernels.
  {
    ThunkProfile profile;
    CHECK(calls_of_run().size() > 4);
    CHECK(profile.thunks().size() >= 3);
    // By the device's clock, which counts calls here; the host's has no say.
    for (const ThunkCall& call : profile.calls()) {
      if (profile.thunks()[call.thunk].kind != "graph") CHECK(call.self == 1000);
    }
  }
  // Runs that wait once.
  const size_t before = device->calls().size();
  CHECK(*(*prepared)->RunMany(3));
  CHECK(device->calls().size() == before + 4);
}

// Calls that move bytes between host and device.
int HostCopies(const RecordingDevice& device) {
  const std::vector<std::string>& calls = device.calls();
  return static_cast<int>(std::count_if(calls.begin(), calls.end(), [](const std::string& call) {
    return call.find("copy to ") != std::string::npos;
  }));
}

TEST_CASE("what runs on buffers make stays on the device", "[gpu][executable]") {
  constexpr const char* kStep = R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  x = f32[4] parameter(0)
  w = f32[4] parameter(1)
  z = f32[4] parameter(2)
  s = f32[4] add(x, w)
  r = f32[4] reverse(z), dimensions={0}
  ROOT t = (f32[4], f32[4]) tuple(s, r)
})";
  const auto device = std::make_shared<RecordingDevice>();
  auto executable = MakeOn(device, kStep);
  REQUIRE(executable.ok());
  auto made = BufferRun::Make(**executable);
  REQUIRE(made.ok());
  BufferRun& run = **made;
  const auto floats = [] { return *HostBuffer::Of(Literal(Shape::Array(ElementType::kF32, {4}))); };
  HostBuffer x = floats(), z = floats();
  const HostBuffer w = *run.Place(floats());
  CHECK(HostCopies(*device) == 1);
  const size_t before = device->calls().size();
  for (int step = 0; step < 3; ++step) {
    auto outputs = run.Execute({Donated(x), Borrowed(w), Donated(z)}, {});
    REQUIRE(outputs.ok());
    x = std::move(outputs->at(0));
    z = std::move(outputs->at(1));
  }
  // The first step takes two values from the host; nothing goes back.
  CHECK(HostCopies(*device) == 3);
  // On the device: `w` once, as no run changes it, and `z` out of the results' memory and into its
  // own in two steps; `x` is made in its place.
  const std::vector<std::string>& calls = device->calls();
  CHECK(std::count(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end(),
                   "s0: copy 16") == 3);
  CHECK(x.ToLiteral().ok());
  CHECK(HostCopies(*device) == 4);
  // What a run has made outlives it.
  made->reset();
  CHECK(z.ToLiteral().ok());
  executable->reset();
  CHECK(x.ToLiteral().ok());
  x = HostBuffer();
  z = HostBuffer();
  CHECK(device->live_allocations() == 1);  // `w`
}

TEST_CASE("arguments are copied just before they are wanted", "[gpu][executable]") {
  const auto device = std::make_shared<RecordingDevice>();
  auto executable = MakeOn(device, kTwoArguments);
  REQUIRE(executable.ok());
  const size_t before = device->calls().size();
  const Literal x(Shape::Array(ElementType::kF32, {4}));
  const Literal y(Shape::Array(ElementType::kF32, {8}));
  const Literal z(Shape::Array(ElementType::kF32, {2}));
  REQUIRE((*executable)->Run({x, y, z}, {}).ok());
  const std::vector<std::string> calls(
      device->calls().begin() + static_cast<std::ptrdiff_t>(before), device->calls().end());
  const auto place = [&calls](std::string_view call) {
    return std::find(calls.begin(), calls.end(), call) - calls.begin();
  };
  // The second copy is after the first launch, on another stream.
  CHECK(place("s1: copy to device 16") < place("s0: launch a grid=1 block=32 arguments=2"));
  CHECK(place("s0: launch a grid=1 block=32 arguments=2") < place("s1: copy to device 32"));
  CHECK(place("s1: copy to device 32") < place("s0: launch b grid=1 block=32 arguments=2"));
  CHECK(place("s1: copy to device 8") < std::ssize(calls));
  CHECK(std::count(calls.begin(), calls.end(), "s0: wait") == 3);
}

// Does nothing, and takes no memory for it.
class IdleStream final : public Stream {
 public:
  absl::Status LaunchKernel(const Launch&) override { return absl::OkStatus(); }
  absl::Status CopyToDevice(DevicePtr, const void*, int64_t) override { return absl::OkStatus(); }
  absl::Status CopyToHost(void*, DevicePtr, int64_t) override { return absl::OkStatus(); }
  absl::Status CopyOnDevice(DevicePtr, DevicePtr, int64_t) override { return absl::OkStatus(); }
  absl::Status Fill(DevicePtr, uint8_t, int64_t) override { return absl::OkStatus(); }
  absl::Status Record(Event&) override { return absl::OkStatus(); }
  absl::Status Wait(Event&) override { return absl::OkStatus(); }
  absl::Status Synchronize() override { return absl::OkStatus(); }
};
class IdleDevice final : public Device {
 public:
  const DeviceProperties& properties() const override { return real_.properties(); }
  absl::StatusOr<DevicePtr> Allocate(int64_t bytes) override { return real_.Allocate(bytes); }
  absl::Status Free(DevicePtr address) override { return real_.Free(address); }
  absl::StatusOr<std::unique_ptr<DeviceModule>> LoadModule(const DeviceCode& code) override {
    return real_.LoadModule(code);
  }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override {
    return std::unique_ptr<Stream>(std::make_unique<IdleStream>());
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override { return real_.CreateEvent(); }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override { return real_.AllocateHost(bytes); }
  absl::Status FreeHost(void* memory) override { return real_.FreeHost(memory); }
  absl::Status WaitFor(Event&) override { return absl::OkStatus(); }

 private:
  RecordingDevice real_;
};

TEST_CASE("a prepared run takes nothing from the heap", "[gpu][executable]") {
  auto executable = MakeOn(std::make_shared<IdleDevice>());
  REQUIRE(executable.ok());
  const Literal argument(Shape::Array(ElementType::kF32, {64}));
  auto prepared = (*executable)->Prepare({argument}, {});
  REQUIRE(prepared.ok());
  const int64_t before = heap_requests;
  const bool ok = (*prepared)->Run().ok();
  const int64_t after = heap_requests;
  CHECK(ok);
  CHECK(after == before);
}

TEST_CASE("executables that follow each other ask the driver for no memory", "[gpu][pool]") {
  auto owned = std::make_unique<RecordingDevice>();
  RecordingDevice& driver = *owned;
  const auto count = [&driver](std::string_view prefix) {
    return std::count_if(driver.calls().begin(), driver.calls().end(),
                         [&](const std::string& call) { return call.starts_with(prefix); });
  };
  const auto device = std::make_shared<CachingDevice>(std::move(owned));
  const Literal argument(Shape::Array(ElementType::kF32, {64}));
  for (int round = 0; round < 3; ++round) {
    auto executable = MakeOn(device);
    REQUIRE(executable.ok());
    REQUIRE((*executable)->Run({argument}, {}).ok());
    REQUIRE((*executable)->Run({argument}, {}).ok());
    // Two blocks on the device, two slots and a place for predicates on the host.
    CHECK(count("allocate") == 5);
    CHECK(count("free") == 0);
  }
  CHECK(driver.live_allocations() == 5);
  REQUIRE(device->Trim().ok());
  CHECK(driver.live_allocations() == 0);
}

TEST_CASE("a full device gets back what is kept before it refuses", "[gpu][pool]") {
  auto owned = std::make_unique<RecordingDevice>();
  RecordingDevice& driver = *owned;
  CachingDevice device(std::move(owned));
  const auto first = device.Allocate(100000);
  REQUIRE(first.ok());
  REQUIRE(device.Free(*first).ok());
  CHECK(driver.live_allocations() == 1);
  driver.FailNextAllocation();
  const auto other = device.Allocate(5000000);
  REQUIRE(other.ok());
  CHECK(driver.live_allocations() == 1);
  CHECK_FALSE(device.Free(*first).ok());
  // What fits the same size is the same block.
  REQUIRE(device.Free(*other).ok());
  const auto again = device.Allocate(4990000);
  REQUIRE(again.ok());
  CHECK(*again == *other);
  REQUIRE(device.Free(*again).ok());
}

TEST_CASE("sizes are rounded to four per doubling", "[gpu][pool]") {
  CHECK(CachingDevice::RoundedSize(1) == 4096);
  CHECK(CachingDevice::RoundedSize(4096) == 4096);
  CHECK(CachingDevice::RoundedSize(4097) == 5120);
  CHECK(CachingDevice::RoundedSize(8192) == 8192);
  CHECK(CachingDevice::RoundedSize(int64_t{1} << 40) == int64_t{1} << 40);
  CHECK(CachingDevice::RoundedSize((int64_t{1} << 40) + 1) == int64_t{5} << 38);
}

TEST_CASE("copies by way of pinned memory arrive whole, whatever runs first", "[gpu][staging]") {
  for (const uint64_t seed : {0, 1, 2}) {
    SimulatorOptions options;
    options.seed = seed;
    auto device = MakeSimulatedDevice(options);
    REQUIRE(device.ok());
    auto staging = Staging::Make(**device, 1);  // the smallest slots: 64 KiB
    REQUIRE(staging.ok());
    auto in = (*device)->CreateStream();
    auto out = (*device)->CreateStream();
    auto copied = (*device)->CreateEvent();
    REQUIRE((in.ok() && out.ok() && copied.ok()));
    for (const size_t size : {1, 100, 65536, 65537, 300000}) {
      CAPTURE(seed, size);
      const auto address = (*device)->Allocate(static_cast<int64_t>(size));
      REQUIRE(address.ok());
      std::vector<uint8_t> source(size), result(size);
      for (size_t i = 0; i < size; ++i) source[i] = static_cast<uint8_t>(i * 7 + seed);
      const std::vector<uint8_t> expected = source;
      const auto bytes = static_cast<int64_t>(size);
      REQUIRE((*staging)->ToDevice(**in, *address, source.data(), bytes).ok());
      source.assign(size, 0);  // it was taken
      REQUIRE((*in)->Record(**copied).ok());
      REQUIRE((*out)->Wait(**copied).ok());
      REQUIRE((*staging)->ToHost(**out, result.data(), *address, bytes).ok());
      REQUIRE((*staging)->Finish().ok());
      CHECK(result == expected);
      REQUIRE((*device)->Free(*address).ok());
    }
  }
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
