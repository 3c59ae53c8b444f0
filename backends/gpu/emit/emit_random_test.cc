// Random numbers, ids of the device, and collectives of one device on the simulated GPU.
#include <catch2/catch.hpp>

#include "backends/gpu/run_case.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

std::string EntryOf(std::string_view body) {
  return fmt::format(
      "HloModule m\nadd {{ a = f32[] parameter(0)\nb = f32[] parameter(1)\n"
      "ROOT c = f32[] add(a, b) }}\nENTRY main {{\n{}\n}}",
      body);
}

TEST_CASE("uniform numbers are the interpreter's", "[gpu][rng]") {
  for (const char* type : {"f32", "f64", "bf16", "f16", "s32", "u8", "s64", "pred"}) {
    for (const char* dims : {"1", "7", "64", "129", "5,7"}) {
      CAPTURE(type, dims);
      const bool is_pred = type[0] == 'p';
      CHECK(RunGpuCase({EntryOf(
                fmt::format("low = {0}[] constant({2})\nhigh = {0}[] constant({3})\n"
                            "ROOT r = {0}[{1}] rng(low, high), "
                            "distribution=rng_uniform",
                            type, dims, is_pred ? "false" : "2", is_pred ? "true" : "90"))}) == "");
    }
  }
}

TEST_CASE("normal numbers are the interpreter's but for the last digits", "[gpu][rng]") {
  for (const char* type : {"f32", "f64", "bf16"}) {
    CAPTURE(type);
    CHECK(RunGpuCase({EntryOf(fmt::format("mean = {0}[] constant(1)\nwide = {0}[] constant(3)\n"
                                          "ROOT r = {0}[33,5] rng(mean, wide), "
                                          "distribution=rng_normal",
                                          type)),
                      type[0] == 'b' ? 1e-2 : 1e-6}) == "");
  }
}

TEST_CASE("each draw has numbers of its own, and counters go on", "[gpu][rng]") {
  CHECK(RunGpuCase({EntryOf("low = f32[] constant(0)\nhigh = f32[] constant(1)\n"
                            "a = f32[9] rng(low, high), distribution=rng_uniform\n"
                            "b = f32[9] rng(low, high), distribution=rng_uniform\n"
                            "s = u64[2] rng-get-and-update-state(), delta=5\n"
                            "t = u64[2] rng-get-and-update-state(), delta=1\n"
                            "ROOT r = (f32[9], f32[9], u64[2], u64[2]) tuple(a, b, s, t)")}) == "");
  // In a loop the counter advances at each step.
  CHECK(RunGpuCase({R"(HloModule m
condition { p = (s32[], u64[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (s32[], u64[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = u64[2] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  s = u64[2] rng-get-and-update-state(), delta=7
  y = u64[2] add(x, s)
  ROOT t = (s32[], u64[2]) tuple(j, y) }
ENTRY main { x = u64[2] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], u64[2]) tuple(zero, x)
  ROOT w = (s32[], u64[2]) while(s), condition=condition, body=body
})"}) == "");
}

TEST_CASE("one device is replica and partition 0, and its collectives are copies",
          "[gpu][collective]") {
  for (const char* body : {
           "a = u32[] replica-id()\nb = u32[] partition-id()\nROOT r = u32[] add(a, b)",
           "x = f32[5] parameter(0)\nROOT r = f32[5] all-reduce(x), replica_groups={}, "
           "to_apply=add",
           "x = f32[5] parameter(0)\ny = f32[3] parameter(1)\n"
           "ROOT r = (f32[5], f32[3]) all-reduce(x, y), replica_groups={{0}}, to_apply=add",
           "x = f32[5] parameter(0)\ns = f32[5] all-reduce-start(x), replica_groups={}, "
           "to_apply=add\nROOT r = f32[5] all-reduce-done(s)",
           "x = f32[5] parameter(0)\nROOT r = f32[5] all-gather(x), replica_groups={}, "
           "dimensions={0}",
           "x = f32[5] parameter(0)\ns = (f32[5], f32[5]) all-gather-start(x), replica_groups={}, "
           "dimensions={0}\nROOT r = f32[5] all-gather-done(s)",
           "x = f32[5] parameter(0)\nROOT r = f32[5] reduce-scatter(x), replica_groups={}, "
           "dimensions={0}, to_apply=add",
           "x = f32[5] parameter(0)\nROOT r = f32[5] all-to-all(x), replica_groups={}, "
           "dimensions={0}",
           "x = f32[5] parameter(0)\nROOT r = f32[5] collective-permute(x), "
           "source_target_pairs={{0,0}}",
           "x = f32[5] parameter(0)\nROOT r = f32[5] collective-permute(x), source_target_pairs={}",
           "x = f32[5] parameter(0)\ns = (f32[5], f32[5], u32[], u32[]) "
           "collective-permute-start(x), source_target_pairs={{0,0}}\n"
           "ROOT r = f32[5] collective-permute-done(s)",
           "x = f32[5] parameter(0)\nROOT r = f32[5] collective-broadcast(x), replica_groups={{0}}",
           "x = f32[5] parameter(0)\nROOT r = f32[5] custom-call(x), "
           "custom_call_target=\"Sharding\"",
       }) {
    CAPTURE(body);
    CHECK(RunGpuCase({EntryOf(body)}) == "");
    CHECK(RunGpuCase({EntryOf(body), 0, {}, /*run_passes=*/true}) == "");
  }
}

TEST_CASE("collectives of several devices are the host's", "[gpu][collective]") {
  const std::string thunks = ThunksOf(
      "HloModule m, replica_count=2\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      "ROOT c = f32[] add(a, b) }\nENTRY main { x = f32[5] parameter(0)\n"
      "ROOT r = f32[5] all-reduce(x), replica_groups={}, to_apply=add }");
  CHECK_THAT(thunks, Catch::Matchers::Contains("host r"));
}

}  // namespace
}  // namespace hlo::gpu
