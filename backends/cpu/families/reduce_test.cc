#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/cpu/families/kernel_test.h"

namespace hlo::cpu {
namespace {

std::string WithRegions(std::string_view text) {
  return std::string(kModuleWithReducers) + std::string(text);
}

TEST_CASE("reductions over any dimensions agree with the interpreter", "[cpu][reduce]") {
  for (const auto& [shape, result, dims] : {std::tuple{"7,33", "7", "1"},
                                            {"7,64", "7", "1"},
                                            {"5,3", "5", "1"},
                                            {"33,7", "7", "0"},
                                            {"100,64", "64", "0"},
                                            {"9,100", "100", "0"},
                                            {"1000", "", "0"},
                                            {"5,6,7", "6", "0,2"},
                                            {"5,6,70", "5", "1,2"},
                                            {"5,6,70", "70", "0,1"},
                                            {"5,6,70", "5,70", "1"},
                                            {"4,5,1", "4", "1,2"}}) {
    CAPTURE(shape, dims);
    const std::string sum = WithRegions(fmt::format(R"(
ENTRY main {{
  x = f32[{}] parameter(0)
  z = f32[] parameter(1)
  ROOT r = f32[{}] reduce(x, z), dimensions={{{}}}, to_apply=add
}})",
                                                    shape, result, dims));
    CHECK(RunKernelCase({sum, 1e-5}) == "");
    const std::string integers = WithRegions(fmt::format(R"(
ENTRY main {{
  x = s32[{}] parameter(0)
  z = s32[] parameter(1)
  ROOT r = s32[{}] reduce(x, z), dimensions={{{}}}, to_apply=addi
}})",
                                                         shape, result, dims));
    CHECK(RunKernelCase({integers}) == "");
  }
}

TEST_CASE("arg-max reduces two operands at once", "[cpu][reduce]") {
  for (const auto& [shape, result, dim] :
       {std::tuple{"7,33", "7", 1}, {"33,20", "20", 0}, {"64", "", 0}}) {
    CAPTURE(shape);
    CHECK(RunKernelCase({WithRegions(fmt::format(R"(
ENTRY main {{
  x = f32[{0}] parameter(0)
  i = s32[{0}] parameter(1)
  lowest = f32[] constant(-inf)
  zero = s32[] constant(2147483647)
  ROOT r = (f32[{1}], s32[{1}]) reduce(x, i, lowest, zero), dimensions={{{2}}}, to_apply=argmax
}})",
                                                 shape, result, dim))}) == "");
  }
}

std::string Softmax(int rows, int columns, std::string_view type) {
  return WithRegions(fmt::format(R"(
f {{
  p = {2}[{0},{1}] parameter(0)
  x = f32[{0},{1}] convert(p)
  lowest = f32[] constant(-inf)
  m = f32[{0}] reduce(x, lowest), dimensions={{1}}, to_apply=max
  mb = f32[{0},{1}] broadcast(m), dimensions={{0}}
  d = f32[{0},{1}] subtract(x, mb)
  e = f32[{0},{1}] exponential(d)
  zero = f32[] constant(0)
  s = f32[{0}] reduce(e, zero), dimensions={{1}}, to_apply=add
  sb = f32[{0},{1}] broadcast(s), dimensions={{0}}
  q = f32[{0},{1}] divide(e, sb)
  ROOT r = {2}[{0},{1}] convert(q)
}}
ENTRY main {{
  x = {2}[{0},{1}] parameter(0)
  ROOT r = {2}[{0},{1}] fusion(x), kind=kLoop, calls=f
}})",
                                 rows, columns, type));
}

TEST_CASE("softmax is one kernel of rows", "[cpu][row]") {
  for (const int columns : {1, 3, 8, 13, 32, 64, 100, 129}) {
    CAPTURE(columns);
    CHECK(RunKernelCase({Softmax(6, columns, "f32"), 1e-6}) == "");
  }
  CHECK(RunKernelCase({Softmax(6, 100, "bf16"), 0.01}) == "");
}

TEST_CASE("normalisation with scale, offset and statistics as results", "[cpu][row]") {
  CHECK(RunKernelCase({WithRegions(R"(
f {
  x = f32[5,3,48] parameter(0)
  g = f32[48] parameter(1)
  o = f32[48] parameter(2)
  zero = f32[] constant(0)
  n = f32[] constant(0.020833334)
  eps = f32[] constant(1e-5)
  s = f32[5,3] reduce(x, zero), dimensions={2}, to_apply=add
  nb = f32[5,3] broadcast(n), dimensions={}
  mean = f32[5,3] multiply(s, nb)
  mb = f32[5,3,48] broadcast(mean), dimensions={0,1}
  c = f32[5,3,48] subtract(x, mb)
  cc = f32[5,3,48] multiply(c, c)
  v = f32[5,3] reduce(cc, zero), dimensions={2}, to_apply=add
  vn = f32[5,3] multiply(v, nb)
  eb = f32[5,3] broadcast(eps), dimensions={}
  ve = f32[5,3] add(vn, eb)
  rs = f32[5,3] rsqrt(ve)
  rb = f32[5,3,48] broadcast(rs), dimensions={0,1}
  y = f32[5,3,48] multiply(c, rb)
  gb = f32[5,3,48] broadcast(g), dimensions={2}
  yg = f32[5,3,48] multiply(y, gb)
  ob = f32[5,3,48] broadcast(o), dimensions={2}
  z = f32[5,3,48] add(yg, ob)
  ROOT t = (f32[5,3,48], f32[5,3], f32[5,3]) tuple(z, mean, rs)
}
ENTRY main {
  x = f32[5,3,48] parameter(0)
  g = f32[48] parameter(1)
  o = f32[48] parameter(2)
  ROOT r = (f32[5,3,48], f32[5,3], f32[5,3]) fusion(x, g, o), kind=kLoop, calls=f
})"),
                       1e-5}) == "");
}

TEST_CASE("column statistics: two reductions with an epilogue", "[cpu][column]") {
  CHECK(RunKernelCase({WithRegions(R"(
f {
  x = f32[6,11,100] parameter(0)
  zero = f32[] constant(0)
  s = f32[100] reduce(x, zero), dimensions={0,1}, to_apply=add
  xx = f32[6,11,100] multiply(x, x)
  q = f32[100] reduce(xx, zero), dimensions={0,1}, to_apply=add
  n = f32[] constant(0.015151516)
  nb = f32[100] broadcast(n), dimensions={}
  mean = f32[100] multiply(s, nb)
  sq = f32[100] multiply(q, nb)
  mm = f32[100] multiply(mean, mean)
  var = f32[100] subtract(sq, mm)
  ROOT t = (f32[100], f32[100]) tuple(mean, var)
}
ENTRY main {
  x = f32[6,11,100] parameter(0)
  ROOT r = (f32[100], f32[100]) fusion(x), kind=kInput, calls=f
})"),
                       1e-5}) == "");
}

TEST_CASE("a sum of everything that is used everywhere", "[cpu][reduce]") {
  CHECK(RunKernelCase({WithRegions(R"(
f {
  x = f32[300] parameter(0)
  zero = f32[] constant(0)
  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  b = f32[300] broadcast(s), dimensions={}
  ROOT y = f32[300] divide(x, b)
}
ENTRY main {
  x = f32[300] parameter(0)
  ROOT r = f32[300] fusion(x), kind=kLoop, calls=f
})"),
                       1e-3}) == "");
}

TEST_CASE("a column sum that is broadcast back is right, if slow", "[cpu][column]") {
  CHECK(RunKernelCase({WithRegions(R"(
f {
  x = f32[30,40] parameter(0)
  zero = f32[] constant(0)
  s = f32[40] reduce(x, zero), dimensions={0}, to_apply=add
  b = f32[30,40] broadcast(s), dimensions={1}
  ROOT y = f32[30,40] divide(x, b)
}
ENTRY main {
  x = f32[30,40] parameter(0)
  ROOT r = f32[30,40] fusion(x), kind=kLoop, calls=f
})"),
                       1e-5}) == "");
}

TEST_CASE("windows: pooling, padding, dilation, cumulative sums", "[cpu][reduce-window]") {
  for (const auto& [in, out, window] :
       {std::tuple{"2,8,8,10", "2,4,4,10", "size=1x2x2x1 stride=1x2x2x1"},
        {"2,8,8,10", "2,4,4,10", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0"},
        {"1,7,9,3", "1,7,9,3", "size=1x3x3x1 pad=0_0x1_1x1_1x0_0"},
        {"5,12", "5,12", "size=1x12 pad=0_0x11_0"},
        {"5,12", "5,20", "size=1x4 pad=0_0x0_0 lhs_dilate=1x2"},
        {"9,30", "9,26", "size=1x3 rhs_dilate=1x2"}}) {
    CAPTURE(in, window);
    CHECK(RunKernelCase({WithRegions(fmt::format(R"(
ENTRY main {{
  x = f32[{}] parameter(0)
  z = f32[] constant(-inf)
  ROOT r = f32[{}] reduce-window(x, z), window={{{}}}, to_apply=max
}})",
                                                 in, out, window))}) == "");
  }
}

TEST_CASE("running combinations along any dimension, from either end", "[cpu][cumulative]") {
  for (const auto& [init, region, window] : {std::tuple{"0", "add", "size=1x37x1 pad=0_0x36_0x0_0"},
                                             {"0", "add", "size=1x37x1 pad=0_0x0_36x0_0"},
                                             {"100", "add", "size=1x1x19 pad=0_0x0_0x0_18"},
                                             {"-inf", "max", "size=1x1x19 pad=0_0x0_0x18_0"},
                                             {"0", "add", "size=5x1x1 pad=4_0x0_0x0_0"}}) {
    CAPTURE(init, region, window);
    CHECK(RunKernelCase({WithRegions(fmt::format(R"(
ENTRY main {{
  x = f32[5,37,19] parameter(0)
  z = f32[] constant({})
  ROOT r = f32[5,37,19] reduce-window(x, z), window={{{}}}, to_apply={}
}})",
                                                 init, window, region))}) == "");
  }
}

TEST_CASE("positions in the padding are skipped, whatever the initial value",
          "[cpu][reduce-window]") {
  CHECK(RunKernelCase({WithRegions(R"(
ENTRY main {
  x = f32[6,30] parameter(0)
  z = f32[] constant(100)
  ROOT r = f32[6,30] reduce-window(x, z), window={size=1x3 pad=0_0x1_1}, to_apply=add
})")}) == "");
}

}  // namespace
}  // namespace hlo::cpu
