// What follows products and reductions in one kernel, on the simulated GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/gpu/run_case.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

int64_t LinesIn(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// A product of integers as `type`, then bias, scale, a limit and another type. Exact in all types.
std::string ProductWithEpilogue(std::string_view type, std::string_view result,
                                std::string_view sizes) {
  const auto comma = sizes.find(',');
  const std::string rows(sizes.substr(0, comma));
  const std::string_view rest = sizes.substr(comma + 1);
  const std::string depth(rest.substr(0, rest.find(',')));
  const std::string columns(rest.substr(rest.find(',') + 1));
  return fmt::format(R"(HloModule m
ENTRY main {{
  i = s32[{2},{3}] parameter(0)
  j = s32[{3},{4}] parameter(1)
  k = s32[{4}] parameter(2)
  residual = {1}[{2},{4}] parameter(3)
  x = {0}[{2},{3}] convert(i)
  w = {0}[{3},{4}] convert(j)
  bias = {1}[{4}] convert(k)
  d = {1}[{2},{4}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b = {1}[{2},{4}] broadcast(bias), dimensions={{1}}
  s = {1}[{2},{4}] add(d, b)
  two = {1}[] constant(2)
  twos = {1}[{2},{4}] broadcast(two), dimensions={{}}
  t = {1}[{2},{4}] multiply(s, twos)
  m = {1}[{2},{4}] maximum(t, twos)
  q = {1}[{2},{4}] subtract(m, residual)
  ROOT r = f32[{2},{4}] convert(q)
}})",
                     type, result, rows, depth, columns);
}

TEST_CASE("products take bias, scale, activation, residual and convert in", "[gpu][epilogue]") {
  struct Case {
    const char *type, *result, *sizes;
  };
  for (const Case& c : {Case{"bf16", "f32", "64,32,64"},  // tensor cores
                        {"bf16", "f32", "33,24,47"},      // odd columns: one at a time
                        {"f16", "f32", "130,40,70"},
                        {"f32", "f32", "48,32,64"},  // groups of columns
                        {"f32", "f32", "17,5,9"},
                        {"f64", "f64", "20,8,24"},
                        {"s32", "s32", "20,8,24"},
                        {"f32", "f32", "2,600,520"},  // few rows: columns, then what blocks share
                        {"f32", "f32", "520,600,2"},
                        {"bf16", "f32", "3,64,40"}}) {
    CAPTURE(c.type, c.sizes);
    const std::string text = ProductWithEpilogue(c.type, c.result, c.sizes);
    GpuCase test;
    test.hlo = text;
    test.largest_integer = 8;
    test.run_passes = true;
    CHECK(RunGpuCase(test) == "");
    const std::string thunks = ThunksOf(text, /*run_passes=*/true);
    CAPTURE(thunks);
    // Two conversions of operands, then the product with all that follows.
    CHECK(LinesIn(thunks) == 3);
  }
}

TEST_CASE("a product that is used twice after itself is computed once", "[gpu][epilogue]") {
  for (const char* type : {"f32", "bf16"}) {
    const std::string text = fmt::format(R"(HloModule m
ENTRY main {{
  x = {0}[40,24] parameter(0)
  w = {0}[24,48] parameter(1)
  d = {0}[40,48] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  l = {0}[40,48] logistic(d)
  ROOT r = {0}[40,48] multiply(d, l)
}})",
                                         type);
    CAPTURE(type);
    CHECK(RunGpuCase({text, type[0] == 'b' ? 2e-2 : 1e-5, {}, /*run_passes=*/true}) == "");
    CHECK(LinesIn(ThunksOf(text, /*run_passes=*/true)) == 1);
  }
}

TEST_CASE("batches and an empty depth have epilogues, too", "[gpu][epilogue]") {
  const auto text = [](int depth) {
    return fmt::format(R"(HloModule m
ENTRY main {{
  i = s32[3,20,{0}] parameter(0)
  j = s32[3,{0},24] parameter(1)
  bias = f32[3,24] parameter(2)
  x = f32[3,20,{0}] convert(i)
  w = f32[3,{0},24] convert(j)
  d = f32[3,20,24] dot(x, w), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
  b = f32[3,20,24] broadcast(bias), dimensions={{0,2}}
  ROOT r = f32[3,20,24] add(d, b)
}})",
                       depth);
  };
  CHECK(RunGpuCase({text(16), 0, {}, /*run_passes=*/true}) == "");
  CHECK(RunGpuCase({text(0), 0, {}, /*run_passes=*/true}) == "");
}

TEST_CASE("convolutions take what follows them in", "[gpu][epilogue]") {
  struct Case {
    const char *input, *filter, *result, *bias, *numbers;
    int feature;
  };
  for (const Case& c : {Case{"2,7,6,16", "3,3,16,24", "2,7,6,24", "24",
                             "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f", 3},
                        // Features are not side by side in memory.
                        {"2,16,9,8", "24,16,3,2", "2,24,5,4", "24",
                         "window={size=3x2 stride=2x2 pad=1_1x0_0}, dim_labels=bf01_oi01->bf01", 1},
                        // A thread for each element.
                        {"2,5,6", "3,2,9", "2,3,9", "9",
                         "window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=3", 2}}) {
    for (const char* type : {"bf16", "f32"}) {
      CAPTURE(c.input, type);
      const std::string text = fmt::format(
          "HloModule m\nENTRY main {{\nx = s32[{1}] parameter(0)\ny = s32[{2}] parameter(1)\n"
          "z = f32[{4}] parameter(2)\na = {0}[{1}] convert(x)\nb = {0}[{2}] convert(y)\n"
          "c = f32[{3}] convolution(a, b), {5}\nd = f32[{3}] broadcast(z), dimensions={{{6}}}\n"
          "s = f32[{3}] add(c, d)\nROOT r = f32[{3}] maximum(s, d)\n}}",
          type, c.input, c.filter, c.result, c.bias, c.numbers, c.feature);
      GpuCase test;
      test.hlo = text;
      test.largest_integer = 8;
      test.run_passes = true;
      CHECK(RunGpuCase(test) == "");
      CHECK(LinesIn(ThunksOf(text, /*run_passes=*/true)) == 3);
    }
  }
}

TEST_CASE("a given fusion that is no kernel is taken apart", "[gpu][epilogue]") {
  constexpr std::string_view kText = R"(HloModule m
f { x = f32[8,4] parameter(0)
  w = f32[4,8] parameter(1)
  d = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[8,8] reverse(d), dimensions={0} }
ENTRY main { x = f32[8,4] parameter(0)
  w = f32[4,8] parameter(1)
  ROOT r = f32[8,8] fusion(x, w), kind=kOutput, calls=f
})";
  GpuCase test;
  test.hlo = kText;
  test.tolerance = 1e-5;
  test.run_passes = true;
  CHECK(RunGpuCase(test) == "");
  // That is the work of a pass, not of the code generator.
  const std::string message = KernelsOf(kText);
  CHECK_THAT(message, Catch::Matchers::Contains("the kernels of `gpu` do not take fusion"));
  CHECK_THAT(message, Catch::Matchers::Contains("`r` after the product is not elementwise"));
}

// ---- reductions ----

constexpr std::string_view kFusionOfReductions = R"(
f { x = f32[SIZES] parameter(0)
  y = f32[KEPT] parameter(1)
  zero = f32[] constant(0)
  lowest = f32[] constant(-inf)
  big = s32[] constant(2147483647)
  i = s32[SIZES] iota(), iota_dimension=DIM
  n = f32[SIZES] negate(x)
  s = f32[KEPT] reduce(n, zero), dimensions={DIM}, to_apply=add
  m = f32[KEPT] reduce(x, lowest), dimensions={DIM}, to_apply=max
  am = (f32[KEPT], s32[KEPT]) reduce(x, i, lowest, big), dimensions={DIM}, to_apply=argmax
  place = s32[KEPT] get-tuple-element(am), index=1
  after = f32[KEPT] multiply(m, y)
  both = f32[KEPT] add(after, m)
  ROOT t = (f32[KEPT], f32[KEPT], s32[KEPT], f32[SIZES]) tuple(s, both, place, n) }
ENTRY main { x = f32[SIZES] parameter(0)
  y = f32[KEPT] parameter(1)
  ROOT r = (f32[KEPT], f32[KEPT], s32[KEPT], f32[SIZES]) fusion(x, y), kind=kInput, calls=f
}
)";

std::string Reductions(std::string_view sizes, std::string_view kept, std::string_view dim) {
  std::string text = fmt::format("{}{}", kModuleWithReducers, kFusionOfReductions);
  for (const auto& [from, to] : {std::pair{std::string_view("SIZES"), sizes},
                                 {std::string_view("KEPT"), kept},
                                 {std::string_view("DIM"), dim}}) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  }
  return text;
}

TEST_CASE("several reductions, what follows them and what they read are one kernel",
          "[gpu][reduce]") {
  struct Case {
    const char *sizes, *kept, *dim;
    int kernels;
  };
  for (const Case& c : {Case{"70,33", "70", "1", 1},  // rows, an element at a time
                        {"70,256", "70", "1", 1},     // rows, 16 bytes at a time
                        {"70,2100", "70", "1", 1},    // a block for each row
                        {"33,70", "70", "0", 1},      // columns
                        {"5,40,70", "5,70", "1", 1},
                        {"20000", "", "0", 2},  // partial results first
                        {"3,16387", "3", "1", 2}}) {
    CAPTURE(c.sizes);
    const std::string text = Reductions(c.sizes, c.kept, c.dim);
    CHECK(RunGpuCase({text, 2e-5}) == "");
    const std::string llvm = KernelsOf(text);
    CHECK(llvm.find("define") != std::string::npos);
    int64_t kernels = 0;
    for (size_t at = 0; (at = llvm.find("define void", at)) != std::string::npos; ++at) ++kernels;
    CHECK(kernels == c.kernels);
  }
}

}  // namespace
}  // namespace hlo::gpu
