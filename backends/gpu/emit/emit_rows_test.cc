// Row fusions on the simulated GPU: softmax, normalisations and others that are one kernel.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

// ROWS and COLUMNS are replaced.
constexpr std::string_view kExponentials = R"(
ENTRY main { x = f32[ROWS,COLUMNS] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[ROWS] reduce(x, lowest), dimensions={1}, to_apply=max
  ms = f32[ROWS,COLUMNS] broadcast(m), dimensions={0}
  d = f32[ROWS,COLUMNS] subtract(x, ms)
  e = f32[ROWS,COLUMNS] exponential(d)
  s = f32[ROWS] reduce(e, zero), dimensions={1}, to_apply=add)";

constexpr std::string_view kSoftmax = R"(
  ss = f32[ROWS,COLUMNS] broadcast(s), dimensions={0}
  ROOT r = f32[ROWS,COLUMNS] divide(e, ss) }
)";

constexpr std::string_view kLogSumExp = R"(
  l = f32[ROWS] log(s)
  ROOT r = f32[ROWS] add(l, m) }
)";

// Two levels, narrow floats in and out, operands by row, by column and by element.
constexpr std::string_view kLayerNorm = R"(
ENTRY main { x = bf16[ROWS,COLUMNS] parameter(0)
  gain = bf16[COLUMNS] parameter(1)
  shift = f32[COLUMNS] parameter(2)
  scale = f32[ROWS] parameter(3)
  y = bf16[ROWS,COLUMNS] parameter(4)
  zero = f32[] constant(0)
  n = f32[] constant(COLUMNS)
  w = f32[ROWS,COLUMNS] convert(x)
  s = f32[ROWS] reduce(w, zero), dimensions={1}, to_apply=add
  ns = f32[ROWS] broadcast(n), dimensions={}
  mean = f32[ROWS] divide(s, ns)
  means = f32[ROWS,COLUMNS] broadcast(mean), dimensions={0}
  d = f32[ROWS,COLUMNS] subtract(w, means)
  q = f32[ROWS,COLUMNS] multiply(d, d)
  v = f32[ROWS] reduce(q, zero), dimensions={1}, to_apply=add
  variance = f32[ROWS] divide(v, ns)
  half = f32[] constant(0.5)
  halves = f32[ROWS] broadcast(half), dimensions={}
  more = f32[ROWS] add(variance, halves)
  r = f32[ROWS] rsqrt(more)
  scaled = f32[ROWS] multiply(r, scale)
  column = f32[ROWS,1] reshape(scaled)
  again = f32[ROWS] reshape(column)
  rs = f32[ROWS,COLUMNS] broadcast(again), dimensions={0}
  wide = f32[COLUMNS] convert(gain)
  gains = f32[ROWS,COLUMNS] broadcast(wide), dimensions={1}
  shifts = f32[ROWS,COLUMNS] broadcast(shift), dimensions={1}
  a = f32[ROWS,COLUMNS] multiply(d, rs)
  b = f32[ROWS,COLUMNS] multiply(a, gains)
  c = f32[ROWS,COLUMNS] add(b, shifts)
  residual = f32[ROWS,COLUMNS] convert(y)
  e = f32[ROWS,COLUMNS] add(c, residual)
  ROOT o = bf16[ROWS,COLUMNS] convert(e) }
)";

// Rows of several dimensions, numbers of rows of two, another shape of the same elements.
constexpr std::string_view kBlocks = R"(
ENTRY main { x = f32[2,ROWS,4,COLUMNS] parameter(0)
  t = f32[4,COLUMNS] parameter(1)
  zero = f32[] constant(0)
  s = f32[2,ROWS] reduce(x, zero), dimensions={3,2}, to_apply=add
  ss = f32[2,ROWS,4,COLUMNS] broadcast(s), dimensions={0,1}
  ts = f32[2,ROWS,4,COLUMNS] broadcast(t), dimensions={2,3}
  a = f32[2,ROWS,4,COLUMNS] add(x, ss)
  b = f32[2,ROWS,4,COLUMNS] multiply(a, ts)
  ROOT r = f32[2,ROWS,1,4,COLUMNS] reshape(b) }
)";

std::string Sized(std::string_view module, int rows, int columns) {
  const bool ends_exponentials = module == kSoftmax || module == kLogSumExp;
  std::string text = std::string(kModuleWithReducers) +
                     std::string(ends_exponentials ? kExponentials : "") + std::string(module);
  for (const auto& [from, to] :
       {std::pair{"ROWS", std::to_string(rows)}, {"COLUMNS", std::to_string(columns)}}) {
    const size_t length = std::string_view(from).size();
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, length, to);
  }
  return text;
}

bool IsOneRowKernel(const std::string& text) {
  const std::string thunks = ThunksOf(text, /*run_passes=*/true);
  return thunks.starts_with("rows ") && thunks.find('\n') == thunks.size() - 1;
}

TEST_CASE("softmax and normalisations are one kernel each", "[gpu][rows]") {
  struct Sizes {
    int rows, columns;
  };
  for (const Sizes& sizes :
       {Sizes{1, 9}, Sizes{5, 3}, Sizes{33, 8},  // a thread, or some, for a row
        Sizes{11, 40}, Sizes{7, 133},            // with lanes that have none
        Sizes{3, 1024},                          // a warp
        Sizes{2, 2500}, Sizes{2, 4096},          // a block
        Sizes{1, 16384}, Sizes{2, 20004}}) {     // read again
    CAPTURE(sizes.rows, sizes.columns);
    for (const std::string_view module : {kSoftmax, kLogSumExp, kLayerNorm, kBlocks}) {
      if (module == kBlocks && sizes.columns > 4096) continue;
      const std::string text = Sized(module, sizes.rows, sizes.columns);
      CAPTURE(text);
      const double tolerance = module == kLayerNorm ? 1e-2 : 2e-5;
      CHECK(RunGpuCase({.hlo = text, .tolerance = tolerance, .run_passes = true}) == "");
      if (module == kLogSumExp && sizes.columns < 9) continue;  // for one thread
      CHECK(IsOneRowKernel(text));
    }
  }
}

TEST_CASE("a row fusion with several outputs", "[gpu][rows]") {
  constexpr std::string_view kText = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
f { x = f32[9,COLUMNS] parameter(0)
  y = f32[9,COLUMNS] parameter(1)
  zero = f32[] constant(0)
  h = f32[9,COLUMNS] add(x, y)
  s = f32[9] reduce(h, zero), dimensions={1}, to_apply=add
  n = f32[9] negate(s)
  ns = f32[9,COLUMNS] broadcast(n), dimensions={0}
  d = f32[9,COLUMNS] add(h, ns)
  i = f16[9,COLUMNS] convert(d)
  ROOT t = (f32[9,COLUMNS], f32[9], f16[9,COLUMNS]) tuple(h, n, i) }
ENTRY main { x = f32[9,COLUMNS] parameter(0)
  y = f32[9,COLUMNS] parameter(1)
  ROOT r = (f32[9,COLUMNS], f32[9], f16[9,COLUMNS]) fusion(x, y), kind=kInput, calls=f }
)";
  for (const int columns : {12, 130, 3000}) {
    std::string text(kText);
    for (size_t at; (at = text.find("COLUMNS")) != std::string::npos;)
      text.replace(at, 7, std::to_string(columns));
    CAPTURE(columns);
    CHECK(RunGpuCase({.hlo = text, .tolerance = 1e-2}) == "");
    CHECK(ThunksOf(text).starts_with("rows "));
  }
}

TEST_CASE("what is not row by row is no row fusion", "[gpu][rows]") {
  // A sum of a row for each column of another row; the sums as a column of a square.
  constexpr std::string_view kText = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
f { x = f32[8,8] parameter(0)
  zero = f32[] constant(0)
  s = f32[8] reduce(x, zero), dimensions={1}, to_apply=add
  ss = f32[8,8] broadcast(s), dimensions={1}
  ROOT d = f32[8,8] add(x, ss) }
ENTRY main { x = f32[8,8] parameter(0)
  ROOT r = f32[8,8] fusion(x), kind=kInput, calls=f }
)";
  CHECK_THAT(KernelsOf(kText), Catch::Matchers::Contains("would be computed 8 times"));
  CHECK(RunGpuCase({.hlo = kText, .tolerance = 1e-5, .run_passes = true}) == "");
}

}  // namespace
}  // namespace hlo::gpu
