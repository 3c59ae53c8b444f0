// Runs on buffers: who keeps what, by address, by value and by the memory of the process.
#include "backends/common/buffer_run.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <string>

#include "backends/registry.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

constexpr std::string_view kAdd = R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  x = f32[SIZE] parameter(0)
  y = f32[SIZE] parameter(1)
  ROOT s = f32[SIZE] add(x, y)
})";

std::string WithSize(std::string text, const std::string& size) {
  for (size_t at; (at = text.find("SIZE")) != std::string::npos;) text.replace(at, 4, size);
  return text;
}

std::unique_ptr<Executable> Compiled(const std::string& platform, std::string_view text) {
  CompileOptions options;
  options.cpu.checks = CpuChecks::kNone;  // which keeps states of all memory
  auto executable = (*FindBackend(platform))->Compile(ParsedModule(text), options);
  REQUIRE(executable.ok());
  return *std::move(executable);
}

HostBuffer Floats(std::vector<float> values) {
  const Shape shape = Shape::Array(ElementType::kF32, {static_cast<int64_t>(values.size())});
  auto buffer = HostBuffer::Of(Literal::Array<float>(shape, values));
  REQUIRE(buffer.ok());
  return *std::move(buffer);
}

// The most memory that the process has ever had, in bytes.
int64_t PeakOfProcess() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

std::vector<std::string> Platforms() {
  std::vector<std::string> names;
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name == "cpu" || info.name == "interpreter") names.emplace_back(info.name);
  }
  return names;
}

TEST_CASE("a donated buffer that is aliased becomes the output", "[backends][donation]") {
  for (const std::string& platform : Platforms()) {
    CAPTURE(platform);
    const auto executable = Compiled(platform, WithSize(std::string(kAdd), "2"));
    auto run = BufferRun::Make(*executable);
    REQUIRE(run.ok());
    HostBuffer x = Floats({1, 2});
    const HostBuffer y = Floats({10, 20});
    const std::byte* const memory = x.data();
    auto out = (*run)->Execute({Donated(x), Borrowed(y)}, {});
    REQUIRE(out.ok());
    CHECK(out->at(0).data() == memory);
    CHECK(out->at(0).ToLiteral()->ToString() == "{11, 22}");
    CHECK(y.ToLiteral()->ToString() == "{10, 20}");

    CHECK(x.is_donated());
    CHECK_FALSE(x.ToLiteral().ok());
    const auto again = (*run)->Execute({Donated(x), Borrowed(y)}, {});
    REQUIRE_FALSE(again.ok());
    CHECK(again.status().message() ==
          "the buffer for `x` was donated to an earlier run; it cannot be used again");
  }
}

TEST_CASE("a borrowed buffer is as it was, aliased or not", "[backends][donation]") {
  for (const std::string& platform : Platforms()) {
    CAPTURE(platform);
    const auto executable = Compiled(platform, WithSize(std::string(kAdd), "2"));
    auto run = BufferRun::Make(*executable);
    REQUIRE(run.ok());
    const HostBuffer x = Floats({1, 2});
    // The same buffer twice is no mistake as long as nobody keeps it.
    for (int i = 0; i < 2; ++i) {
      auto out = (*run)->Execute({Borrowed(x), Borrowed(x)}, {});
      REQUIRE(out.ok());
      CHECK(out->at(0).data() != x.data());
      CHECK(out->at(0).ToLiteral()->ToString() == "{2, 4}");
      CHECK(x.ToLiteral()->ToString() == "{1, 2}");
    }
  }
}

TEST_CASE("buffers keep their values while runs come and go", "[backends][donation]") {
  constexpr std::string_view kText = R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  s = f32[2] add(x, y)
  d = f32[2] subtract(y, x)
  ROOT t = (f32[2], f32[2], f32[2]) tuple(s, d, y)
})";
  struct Known {
    HostBuffer buffer;
    float first, second;
  };
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name == "gpu") continue;  // wants a GPU
    CAPTURE(info.name);
    const auto executable = Compiled(std::string(info.name), kText);
    auto run = BufferRun::Make(*executable);
    REQUIRE(run.ok());
    std::vector<Known> pool;
    for (const float value : {1.0f, 2.0f, 3.0f}) {
      pool.push_back({Floats({value, -value}), value, -value});
      if (value == 2.0f) pool.back().buffer = *(*run)->Place(std::move(pool.back().buffer));
    }
    unsigned random = 1;
    const auto below = [&random](size_t n) {
      random = random * 1664525u + 1013904223u;
      return static_cast<size_t>(random >> 16) % n;
    };
    for (int step = 0; step < 60; ++step) {
      const size_t i = below(pool.size());
      const size_t j = (i + 1 + below(pool.size() - 1)) % pool.size();
      const bool gives_x = below(3) > 0, gives_y = below(3) == 0;
      Known &x = pool[i], &y = pool[j];
      auto out = (*run)->Execute({gives_x ? Donated(x.buffer) : Borrowed(x.buffer),
                                  gives_y ? Donated(y.buffer) : Borrowed(y.buffer)},
                                 {});
      REQUIRE(out.ok());
      // Small numbers, so that nothing is rounded.
      const auto wrap = [](float v) { return std::fmod(v, 64.0f); };
      std::vector<Known> next;
      next.push_back({std::move(out->at(0)), x.first + y.first, x.second + y.second});
      next.push_back({std::move(out->at(1)), y.first - x.first, y.second - x.second});
      next.push_back({std::move(out->at(2)), y.first, y.second});
      for (Known& known : pool) {
        if (!known.buffer.is_donated()) next.push_back(std::move(known));
      }
      for (Known& known : next) {
        const auto value = known.buffer.ToLiteral();
        REQUIRE(value.ok());
        CHECK(value->GetDouble(0) == known.first);
        CHECK(value->GetDouble(1) == known.second);
        if (std::abs(known.first) < 1000 && std::abs(known.second) < 1000) continue;
        known = {Floats({wrap(known.first), wrap(known.second)}), wrap(known.first),
                 wrap(known.second)};
      }
      while (next.size() > 5)
        next.erase(next.begin() + static_cast<std::ptrdiff_t>(below(next.size())));
      pool = std::move(next);
    }
  }
}

TEST_CASE("what one run made another takes", "[backends][donation]") {
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name == "gpu") continue;  // wants a GPU
    CAPTURE(info.name);
    const auto executable = Compiled(std::string(info.name), WithSize(std::string(kAdd), "2"));
    auto first = BufferRun::Make(*executable), second = BufferRun::Make(*executable);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    HostBuffer x = Floats({1, 2});
    const HostBuffer y = Floats({10, 20});
    auto made = (*first)->Execute({Donated(x), Borrowed(y)}, {});
    REQUIRE(made.ok());
    auto borrowed = (*second)->Execute({Borrowed(made->at(0)), Borrowed(y)}, {});
    REQUIRE(borrowed.ok());
    CHECK(borrowed->at(0).ToLiteral()->ToString() == "{21, 42}");
    auto donated = (*second)->Execute({Donated(made->at(0)), Borrowed(borrowed->at(0))}, {});
    REQUIRE(donated.ok());
    CHECK(donated->at(0).ToLiteral()->ToString() == "{32, 64}");
    CHECK(borrowed->at(0).ToLiteral()->ToString() == "{21, 42}");
  }
}

TEST_CASE("wrong buffers are refused before anything runs", "[backends][donation]") {
  std::string text = WithSize(std::string(kAdd), "2");
  text.replace(text.find("may-alias"), 3, "must");
  for (const std::string& platform : Platforms()) {
    CAPTURE(platform);
    const auto executable = Compiled(platform, text);
    auto run = BufferRun::Make(*executable);
    REQUIRE(run.ok());
    HostBuffer x = Floats({1, 2}), three = Floats({1, 2, 3});
    const auto message = [&](std::vector<BufferArgument> arguments) {
      return std::string((*run)->Execute(arguments, {}).status().message());
    };
    CHECK(message({Borrowed(x), Borrowed(x)}) ==
          "output 0 must alias `x`, which is borrowed; it has to be donated");
    CHECK(message({Donated(x), Borrowed(x)}) ==
          "the buffer for `x` is donated, and given for `y` as well");
    CHECK(message({Donated(x), Borrowed(three)}) ==
          "the buffer for `y` has shape `f32[3]`, expected `f32[2]`");
    CHECK(message({Donated(x)}) ==
          "`main` takes 2 buffers, one for each leaf of its parameters, got 1");
    CHECK_FALSE(x.is_donated());
  }
}

TEST_CASE("must-alias holds even where the output is made elsewhere", "[backends][donation]") {
  // The output is the other parameter's value.
  constexpr std::string_view kSwap =
      R"(HloModule m, input_output_alias={ {0}: (1, {}, must-alias), {1}: (0, {}, must-alias) }
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT t = (f32[2], f32[2]) tuple(x, y)
})";
  for (const std::string& platform : Platforms()) {
    CAPTURE(platform);
    const auto executable = Compiled(platform, kSwap);
    auto run = BufferRun::Make(*executable);
    REQUIRE(run.ok());
    HostBuffer x = Floats({1, 2}), y = Floats({3, 4});
    const std::byte *const at_x = x.data(), *const at_y = y.data();
    auto out = (*run)->Execute({Donated(x), Donated(y)}, {});
    REQUIRE(out.ok());
    CHECK(out->at(0).data() == at_y);
    CHECK(out->at(1).data() == at_x);
    CHECK(out->at(0).ToLiteral()->ToString() == "{1, 2}");
    CHECK(out->at(1).ToLiteral()->ToString() == "{3, 4}");
  }
}

TEST_CASE("an update in place takes no memory, a protected one that of a copy",
          "[backends][donation]") {
  if (Platforms().size() < 2) return;  // no compiled platform in this build
  constexpr int64_t kBytes = int64_t{256} << 20, kNoise = int64_t{64} << 20;
  const auto executable = Compiled("cpu", WithSize(std::string(kAdd), std::to_string(kBytes / 8)));
  auto run = BufferRun::Make(*executable);
  REQUIRE(run.ok());
  const Shape shape = Shape::Array(ElementType::kF32, {kBytes / 8});
  HostBuffer x = *HostBuffer::Make(shape), y = *HostBuffer::Make(shape);
  std::fill_n(reinterpret_cast<float*>(x.data()), kBytes / 8, 1.0f);
  std::fill_n(reinterpret_cast<float*>(y.data()), kBytes / 8, 2.0f);

  const int64_t before = PeakOfProcess();
  auto out = (*run)->Execute({Donated(x), Borrowed(y)}, {});
  REQUIRE(out.ok());
  const int64_t donated = PeakOfProcess();
  CHECK(donated - before < kNoise);
  CHECK(reinterpret_cast<const float*>(out->at(0).data())[kBytes / 8 - 1] == 3.0f);

  HostBuffer z = std::move(out->at(0));
  REQUIRE((*run)->Execute({Borrowed(z), Borrowed(y)}, {}).ok());
  CHECK(PeakOfProcess() - donated > kBytes / 2 - kNoise);
}

}  // namespace
}  // namespace hlo
