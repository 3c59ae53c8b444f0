// One executable, several states: runs at the same time give what runs one after the other give.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <thread>

#include "backends/registry.h"
#include "lib/eval/device_group.h"
#include "lib/support/status.h"
#include "lib/types/literal_compare.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

constexpr int kThreads = 4;
constexpr int kRuns = 4;

std::string Numbers(int count) {
  std::string text = "{0";
  for (int i = 1; i < count; ++i) text += fmt::format(", {}", i * 37 % 19 * 0.125 - 1);
  return text + "}";
}

// A product and a convolution with constant weights, which are kept packed; the same product with
// an argument in a loop; random numbers; a sort.
std::string Text() {
  std::string text = R"(HloModule m

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}

condition {
  s = (s32[], f32[48,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}

body {
  s = (s32[], f32[48,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[48,64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[48,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[48,64] tanh(y)
  ROOT t = (s32[], f32[48,64], f32[64,64]) tuple(j, z, w)
}

ENTRY main {
  x = f32[48,64] parameter(0)
  v = f32[64,64] parameter(1)
  flat = f32[4096] constant(WEIGHTS)
  w = f32[64,64] reshape(flat)
  product = f32[48,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  image = f32[1,16,24,8] reshape(x)
  small = f32[576] constant(KERNEL)
  kernel = f32[3,3,8,8] reshape(small)
  filtered = f32[1,16,24,8] convolution(image, kernel), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  zero = s32[] constant(0)
  start = (s32[], f32[48,64], f32[64,64]) tuple(zero, x, v)
  loop = (s32[], f32[48,64], f32[64,64]) while(start), condition=condition, body=body
  looped = f32[48,64] get-tuple-element(loop), index=1
  low = f32[] constant(0)
  high = f32[] constant(1)
  random = f32[16] rng(low, high), distribution=rng_uniform
  counter = u64[2] rng-get-and-update-state(), delta=5
  sorted = f32[48,64] sort(x), dimensions={1}, to_apply=less
  ROOT t = (f32[48,64], f32[1,16,24,8], f32[48,64], f32[16], u64[2], f32[48,64]) tuple(product, filtered, looped, random, counter, sorted)
}
)";
  text.replace(text.find("WEIGHTS"), 7, Numbers(4096));
  text.replace(text.find("KERNEL"), 6, Numbers(576));
  return text;
}

std::vector<Literal> Arguments(int thread, int run) {
  Literal x(Shape::Array(ElementType::kF32, {48, 64})),
      v(Shape::Array(ElementType::kF32, {64, 64}));
  const double phase = thread * 10 + run;
  for (int64_t i = 0; i < x.element_count(); ++i) x.SetDouble(i, std::sin(phase + 0.1 * i));
  for (int64_t i = 0; i < v.element_count(); ++i) v.SetDouble(i, std::cos(phase + 0.3 * i) / 8);
  return {x, v};
}

using Results = std::vector<std::string>;  // by run: the result, or the error

// The runs of a thread, which follow each other in a state.
Results RunAll(const Executable& executable, int thread) {
  Results results;
  auto state = executable.MakeState();
  if (!state.ok()) return {state.status().ToString()};
  for (int run = 0; run < kRuns; ++run) {
    const auto result = (*state)->Execute(Arguments(thread, run), {});
    results.push_back(result.ok() ? result->ToString() : result.status().ToString());
  }
  return results;
}

void CheckPlatform(std::string_view platform, const CompileOptions& options) {
  INFO(platform);
  const auto backend = FindBackend(platform);
  REQUIRE(backend.ok());
  auto compiled = (*backend)->Compile(ParsedModule(Text()), options);
  INFO(compiled.status());
  REQUIRE(compiled.ok());
  const Executable& executable = **compiled;

  std::vector<Results> expected, actual(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) expected.push_back(RunAll(executable, thread));
  REQUIRE(expected[0].size() == kRuns);
  // Other arguments, other results.
  CHECK(expected[0] != expected[1]);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(
        [&, thread] { actual[static_cast<size_t>(thread)] = RunAll(executable, thread); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t thread = 0; thread < kThreads; ++thread) CHECK(actual[thread] == expected[thread]);
}

TEST_CASE("threads run one executable at the same time", "[backends][state]") {
  CompileOptions options;
  options.threads = 2;
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name != "gpu") CheckPlatform(info.name, options);
  }
}

TEST_CASE("threads run one executable of checked kernels at the same time", "[backends][state]") {
  CompileOptions options;
  options.threads = 2;
  options.cpu.checks = CpuChecks::kAll;
  if (FindBackend("cpu").ok()) CheckPlatform("cpu", options);
}

TEST_CASE("each state has random numbers of its own", "[backends][state]") {
  constexpr std::string_view kText = R"(HloModule m
ENTRY main {
  low = f32[] constant(0)
  high = f32[] constant(1)
  random = f32[4] rng(low, high), distribution=rng_uniform
  counter = u64[2] rng-get-and-update-state(), delta=5
  ROOT t = (f32[4], u64[2]) tuple(random, counter)
}
)";
  for (const PlatformInfo& info : AllBackends()) {
    if (info.name == "gpu") continue;
    INFO(info.name);
    const auto executable = (*FindBackend(info.name))->Compile(ParsedModule(kText), {});
    REQUIRE(executable.ok());
    const auto one = (*executable)->MakeState();
    const auto other = (*executable)->MakeState();
    REQUIRE((one.ok() && other.ok()));
    const auto draw = [](ExecutionState& state) {
      const auto result = state.Execute({}, {});
      REQUIRE(result.ok());
      return result->ToString();
    };
    const std::string first = draw(**one), second = draw(**one);
    CHECK(first != second);
    CHECK(draw(**other) == first);
    CHECK(draw(**other) == second);
    // A run without a state begins anew.
    CHECK((*executable)->Run({}, {})->ToString() == first);
  }
}

TEST_CASE("devices with a state each run one executable together", "[backends][state]") {
  constexpr std::string_view kText = R"(HloModule m, replica_count=2, num_partitions=2

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2] parameter(0)
  twice = f32[2] add(x, x)
  all = f32[2] all-reduce(twice), replica_groups={{0,1}}, to_apply=sum
  p = u32[] partition-id()
  f = f32[] convert(p)
  b = f32[2] broadcast(f), dimensions={}
  y = f32[2] multiply(all, b)
  ROOT t = f32[2] collective-permute(y), channel_id=1, source_target_pairs={{0,1},{1,0}}
}
)";
  for (const std::string_view platform : {"interpreter", "cpu"}) {
    const auto backend = FindBackend(platform);
    if (!backend.ok()) continue;
    INFO(platform);
    const std::unique_ptr<Module> module = ParsedModule(kText);
    const auto executable = (*backend)->Compile(module->Clone(), {});
    REQUIRE(executable.ok());
    const auto results =
        RunOnDevices(*module, [&](int64_t replica, int64_t partition, Communicator& communicator) {
          RunOptions options;
          options.replica_id = replica;
          options.partition_id = partition;
          options.communicator = &communicator;
          const auto device = static_cast<double>(replica * 2 + partition);
          return (*executable)
              ->Run({Literal::Filled(Shape::Array(ElementType::kF32, {2}), device)}, options);
        });
    INFO(results.status());
    REQUIRE(results.ok());
    // Partition 0 gets 2 * (1 + 3) of partition 1, which gets nothing of partition 0.
    CHECK((*results)[0].ToString() == "{8, 8}");
    CHECK((*results)[1].ToString() == "{0, 0}");
    CHECK((*results)[2].ToString() == "{8, 8}");
    CHECK((*results)[3].ToString() == "{0, 0}");
  }
}

}  // namespace
}  // namespace hlo
