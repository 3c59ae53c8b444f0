// fft, cholesky, triangular-solve, scan, cumulative windows and batch norm on the simulated GPU,
// compared with the interpreter.
#include <catch2/catch.hpp>

#include "backends/gpu/run_case.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

std::string Entry(std::string_view computations, std::string_view body) {
  return fmt::format("HloModule m\n{}\nENTRY main {{\n{}\n}}", computations, body);
}

TEST_CASE("transforms of any length, along several dimensions", "[gpu][fft]") {
  struct Case {
    const char *operand, *result, *type, *length;
    double tolerance;
  };
  for (const Case& c : {Case{"c64[8]", "c64[8]", "FFT", "8", 1e-5},
                        {"c64[3,60]", "c64[3,60]", "FFT", "60", 2e-5},
                        {"c64[2,37]", "c64[2,37]", "IFFT", "37", 2e-5},
                        {"c64[1]", "c64[1]", "FFT", "1", 0},
                        {"c64[4,6,5]", "c64[4,6,5]", "FFT", "4,6,5", 2e-5},
                        {"c64[4,6,5]", "c64[4,6,5]", "IFFT", "6,5", 2e-5},
                        {"f32[2,12]", "c64[2,7]", "RFFT", "12", 2e-5},
                        {"f32[7,5]", "c64[7,3]", "RFFT", "7,5", 2e-5},
                        {"c64[2,7]", "f32[2,12]", "IRFFT", "12", 2e-5},
                        {"c64[7,3]", "f32[7,5]", "IRFFT", "7,5", 2e-5},
                        {"c128[96]", "c128[96]", "FFT", "96", 1e-13},
                        {"f64[30]", "c128[16]", "RFFT", "30", 1e-13}}) {
    CAPTURE(c.operand, c.type);
    CHECK(RunGpuCase({Entry("", fmt::format("x = {} parameter(0)\nROOT r = {} fft(x), fft_type={}, "
                                            "fft_length={{{}}}",
                                            c.operand, c.result, c.type, c.length)),
                      c.tolerance}) == "");
  }
}

TEST_CASE("cholesky of batches, either triangle", "[gpu][linalg]") {
  struct Case {
    const char *type, *lower;
    int n;
    double tolerance;
  };
  for (const Case& c : {Case{"f32", "true", 1, 1e-5},
                        {"f32", "true", 5, 1e-4},
                        {"f32", "false", 19, 1e-4},
                        {"f64", "true", 33, 1e-10},
                        {"c64", "true", 6, 1e-4},
                        {"c64", "false", 6, 1e-4}}) {
    CAPTURE(c.type, c.lower, c.n);
    // x x^H + n is positive definite.
    const bool is_complex = c.type[0] == 'c';
    const std::string conjugate =
        is_complex ? fmt::format(
                         "re = f32[3,{0},{0}] real(x)\nim = f32[3,{0},{0}] imag(x)\n"
                         "mi = f32[3,{0},{0}] negate(im)\n"
                         "y = c64[3,{0},{0}] complex(re, mi)",
                         c.n)
                   : fmt::format("y = {1}[3,{0},{0}] copy(x)", c.n, c.type);
    const std::string body = fmt::format(
        "x = {1}[3,{0},{0}] parameter(0)\n{2}\n"
        "p = {1}[3,{0},{0}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
        "lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}\n"
        "i = s32[3,{0},{0}] iota(), iota_dimension=1\nj = s32[3,{0},{0}] iota(), iota_dimension=2\n"
        "d = pred[3,{0},{0}] compare(i, j), direction=EQ\ns = {1}[3,{0},{0}] convert(d)\n"
        "k = {1}[] constant({3})\nks = {1}[3,{0},{0}] broadcast(k), dimensions={{}}\n"
        "e = {1}[3,{0},{0}] multiply(s, ks)\na = {1}[3,{0},{0}] add(p, e)\n"
        "ROOT r = {1}[3,{0},{0}] cholesky(a), lower={4}",
        c.n, c.type, conjugate, is_complex ? fmt::format("({}, 0)", c.n) : fmt::format("{}", c.n),
        c.lower);
    CHECK(RunGpuCase({Entry("", body), c.tolerance}) == "");
  }
  // No factor: everything is NaN.
  CHECK(RunGpuCase({Entry("",
                          "x = f32[2,2] constant({{1, 0}, {2, 1}})\n"
                          "ROOT r = f32[2,2] cholesky(x), lower=true")}) == "");
  CHECK(RunGpuCase({Entry("",
                          "x = bf16[2,2] constant({{4, 0}, {2, 5}})\n"
                          "ROOT r = bf16[2,2] cholesky(x), lower=true"),
                    1e-2}) == "");
}

TEST_CASE("triangular systems from both sides", "[gpu][linalg]") {
  for (const char* side : {"true", "false"}) {
    for (const char* lower : {"true", "false"}) {
      for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
        for (const char* type : {"f32", "c64"}) {
          CAPTURE(side, lower, transpose, type);
          const bool is_left = side[0] == 't';
          // A unit diagonal and small numbers beside it keep the solutions tame.
          CHECK(
              RunGpuCase({Entry("", fmt::format(
                                        "x = {0}[2,9,9] parameter(0)\ny = {0}[2,{1}] parameter(1)\n"
                                        "t = {0}[] constant({5})\n"
                                        "ts = {0}[2,9,9] broadcast(t), dimensions={{}}\n"
                                        "z = {0}[2,9,9] multiply(x, ts)\n"
                                        "ROOT r = {0}[2,{1}] triangular-solve(z, y), "
                                        "left_side={2}, lower={3}, unit_diagonal=true, "
                                        "transpose_a={4}",
                                        type, is_left ? "9,35" : "3,9", side, lower, transpose,
                                        type[0] == 'c' ? "(0.25, 0)" : "0.25")),
                          1e-3}) == "");
        }
      }
    }
  }
  CHECK(RunGpuCase({Entry("",
                          "x = f32[2,2] constant({{2, nan}, {1, 4}})\n"
                          "y = f32[2,1] constant({{6}, {11}})\n"
                          "ROOT r = f32[2,1] triangular-solve(x, y), left_side=true, "
                          "lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE")}) == "");
}

TEST_CASE("scans of slices, forward and backward", "[gpu][scan]") {
  constexpr std::string_view kScalar = R"(step { e = f32[] parameter(0)
  c = f32[] parameter(1)
  h = f32[] constant(0.5)
  d = f32[] multiply(c, h)
  s = f32[] add(e, d)
  n = f32[] negate(s)
  ROOT t = (f32[], f32[]) tuple(n, s) })";
  constexpr std::string_view kSlices = R"(step { e = f32[3,5] parameter(0)
  c = f32[3,5] parameter(1)
  h = f32[] constant(0.5)
  hs = f32[3,5] broadcast(h), dimensions={}
  d = f32[3,5] multiply(c, hs)
  s = f32[3,5] add(e, d)
  ROOT t = (f32[3,5], f32[3,5]) tuple(s, s) })";
  for (const char* reverse : {"true", "false"}) {
    CHECK(RunGpuCase(
              {Entry(kScalar, fmt::format("x = f32[9] parameter(0)\nz = f32[] parameter(1)\n"
                                          "ROOT r = (f32[9], f32[]) scan(x, z), dimensions={{0}}, "
                                          "num_carries=1, is_reverse={}, is_associative=false, "
                                          "to_apply=step",
                                          reverse))}) == "");
    CHECK(RunGpuCase({Entry(
              kSlices,
              fmt::format("x = f32[3,7,5] parameter(0)\nz = f32[3,5] parameter(1)\n"
                          "ROOT r = (f32[3,7,5], f32[3,5]) scan(x, z), dimensions={{1}}, "
                          "num_carries=1, is_reverse={}, is_associative=false, to_apply=step",
                          reverse))}) == "");
  }
}

TEST_CASE("running sums and maxima along any dimension", "[gpu][cumulative]") {
  constexpr std::string_view kRegions = R"(add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
most { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] maximum(a, b) }
narrow { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b) })";
  for (const char* window : {"size=1x700 pad=0_0x699_0", "size=1x700 pad=0_0x0_699"}) {
    CAPTURE(window);
    for (const char* kind : {"f32 add 2e-4", "s32 most 0", "bf16 narrow 2e-2"}) {
      char type[8], region[8];
      double tolerance = 0;
      REQUIRE(sscanf(kind, "%7s %7s %lf", type, region, &tolerance) == 3);
      const std::string text =
          Entry(kRegions, fmt::format("x = {0}[2,700] parameter(0)\nz = {0}[] parameter(1)\n"
                                      "ROOT r = {0}[2,700] reduce-window(x, z), window={{{1}}}, "
                                      "to_apply={2}",
                                      type, window, region));
      CHECK(RunGpuCase({text, tolerance}) == "");
      CHECK_THAT(ThunksOf(text), Catch::Matchers::StartsWith("cumulative"));
    }
  }
  CHECK(RunGpuCase({Entry(kRegions,
                          "x = f32[300,3] parameter(0)\nz = f32[] constant(0)\n"
                          "ROOT r = f32[300,3] reduce-window(x, z), "
                          "window={size=300x1 pad=299_0x0_0}, to_apply=add"),
                    2e-4}) == "");
  CHECK(RunGpuCase({Entry(kRegions,
                          "x = f32[5,20] parameter(0)\nz = f32[] constant(1)\n"
                          "ROOT r = f32[5,20] reduce-window(x, z), "
                          "window={size=5x1 pad=4_0x0_0}, to_apply=add"),
                    1e-5}) == "");
}

TEST_CASE("batch norm is expanded by the pipeline", "[gpu][batch-norm]") {
  GpuCase test;
  const std::string text =
      Entry("",
            "x = f32[3,6,4] parameter(0)\ns = f32[4] parameter(1)\no = f32[4] parameter(2)\n"
            "ROOT r = (f32[3,6,4], f32[4], f32[4]) batch-norm-training(x, s, o), "
            "epsilon=0.01, feature_index=2");
  test.hlo = text;
  test.tolerance = 1e-4;
  test.run_passes = true;
  CHECK(RunGpuCase(test) == "");
}

}  // namespace
}  // namespace hlo::gpu
