// Small steps as one kernel: neighbours and loops (core/one_block.h), on the simulated GPU.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kComputations = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
)";

// A loop with state (s32[], STATE) whose body computes `next` of `x`; `trips` times.
std::string Loop(std::string_view state, std::string_view body, int trips) {
  return fmt::format(R"({0}
condition {{
  p = (s32[], {1}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({3})
  ROOT more = pred[] compare(i, n), direction=LT
}}
body {{
  p = (s32[], {1}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = {1} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
{2}
  ROOT t = (s32[], {1}) tuple(j, next)
}}
ENTRY main {{
  x = {1} parameter(0)
  zero = s32[] constant(0)
  s = (s32[], {1}) tuple(zero, x)
  w = (s32[], {1}) while(s), condition=condition, body=body
  ROOT r = {1} get-tuple-element(w), index=1
}})",
                     kComputations, state, body, trips);
}

bool Has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

TEST_CASE("a loop of small steps is one kernel", "[gpu][one-block]") {
  struct Case {
    const char *state, *body;
    int trips;
  };
  const Case cases[] = {
      // One warp.
      {"f32[3]", "  next = f32[3] sine(x)", 100},
      // More than one launch takes.
      {"f32[3]", "  next = f32[3] negate(x)", 9001},
      {"f32[3]", "  next = f32[3] negate(x)", 4096},
      {"f32[3]", "  next = f32[3] negate(x)", 1},
      {"f32[3]", "  next = f32[3] negate(x)", 0},
      // Several blocks of threads that know nothing of each other, at the same time and in turns.
      {"f32[1500]", "  y = f32[1500] reverse(x), dimensions={0}\n  next = f32[1500] negate(y)", 5},
      // Barriers of all threads, and of some.
      {"f32[8,40]",
       "  z = f32[] constant(0)\n"
       "  s = f32[8] reduce(x, z), dimensions={1}, to_apply=add\n"
       "  b = f32[8,40] broadcast(s), dimensions={0}\n"
       "  h = f32[] constant(0.01)\n"
       "  hb = f32[8,40] broadcast(h), dimensions={}\n"
       "  m = f32[8,40] multiply(b, hb)\n"
       "  next = f32[8,40] subtract(x, m)",
       7},
      {"f32[3,37]",
       "  u = f32[3,37] sort(x), dimensions={1}, to_apply=less\n"
       "  next = f32[3,37] reverse(u), dimensions={0,1}",
       5},
      {"f32[16,16]",
       "  h = f32[] constant(0.1)\n"
       "  hb = f32[16,16] broadcast(h), dimensions={}\n"
       "  d = f32[16,16] dot(x, hb), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
       "  u = f32[16,16] sort(d), dimensions={1}, to_apply=less\n"
       "  next = f32[16,16] transpose(u), dimensions={1,0}",
       4},
  };
  for (const Case& c : cases) {
    const std::string text = Loop(c.state, c.body, c.trips);
    CAPTURE(text);
    CHECK(RunGpuCase({.hlo = text, .tolerance = 1e-5, .run_passes = true}) == "");
    CHECK(Has(ThunksOf(text, true, true), "loop-steps w ") == (c.trips > 0));
  }
}

TEST_CASE("loops in loops, of which the inner ones are counted", "[gpu][one-block]") {
  const std::string text = std::string(kComputations) + R"(
inner_condition {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT
}
inner_body {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[5] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[5] sort(x), dimensions={0}, to_apply=less
  z = f32[5] reverse(y), dimensions={0}
  next = f32[5] cosine(z)
  ROOT t = (s32[], f32[5]) tuple(j, next)
}
condition {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT more = pred[] compare(i, n), direction=LT
}
body {
  p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[5] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = s32[] constant(0)
  s = (s32[], f32[5]) tuple(zero, x)
  w = (s32[], f32[5]) while(s), condition=inner_condition, body=inner_body
  next = f32[5] get-tuple-element(w), index=1
  ROOT t = (s32[], f32[5]) tuple(j, next)
}
ENTRY main {
  x = f32[5] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[5]) tuple(zero, x)
  w = (s32[], f32[5]) while(s), condition=condition, body=body
  ROOT r = f32[5] get-tuple-element(w), index=1
})";
  CHECK(RunGpuCase({.hlo = text, .run_passes = true}) == "");
}

TEST_CASE("a loop with large steps stays with the host", "[gpu][one-block]") {
  const std::string text = Loop("f32[100000]", "  next = f32[100000] negate(x)", 5);
  CHECK(RunGpuCase({.hlo = text, .run_passes = true}) == "");
  CHECK(!Has(ThunksOf(text, true, true), "loop-steps"));
}

TEST_CASE("neighbours of one block each are one kernel", "[gpu][one-block]") {
  const std::string text = std::string(kComputations) + R"(
ENTRY main {
  x = f32[3,37] parameter(0)
  a = f32[3,37] sort(x), dimensions={1}, to_apply=less
  b = f32[37,3] transpose(a), dimensions={1,0}
  c = f32[37,3] sort(b), dimensions={0}, to_apply=less
  big = f32[300,300] parameter(1)
  d = f32[300,300] sort(big), dimensions={1}, to_apply=less
  ROOT t = (f32[37,3], f32[300,300]) tuple(c, d)
})";
  CHECK(RunGpuCase({.hlo = text, .run_passes = true}) == "");
  CHECK(Has(ThunksOf(text, true, true), "steps "));
  CHECK(Has(ThunksOf(text, true, true), "sort d "));
}

}  // namespace
}  // namespace hlo::gpu
