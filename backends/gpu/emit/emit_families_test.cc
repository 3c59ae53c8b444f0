// Reductions, windows, dots, convolutions, sorts and control flow on the simulated GPU.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "backends/codegen/test_programs.h"
#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kMoreComputations = R"(
addb { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b) }
mulc { a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT c = c64[] add(a, b) }
andp { a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT c = pred[] and(a, b) }
less { a = s32[] parameter(0)
  b = s32[] parameter(1)
  p = f32[] parameter(2)
  q = f32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
greater { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER }
ENTRY main {
)";

std::string With(std::string_view body) {
  return fmt::format("{}{}{}\n}}", kModuleWithReducers, kMoreComputations, body);
}

TEST_CASE("reductions over any dimensions, in several types", "[gpu][reduce]") {
  struct Sizes {
    const char *operand, *result, *dims, *family;
  };
  for (const Sizes& s : {Sizes{"7,33", "7", "1", "reduce"},
                         {"70,64", "70", "1", "reduce"},
                         {"5,3", "5", "1", "loop"},
                         {"3,1500", "3", "1", "reduce"},
                         {"33,7", "7", "0", "reduce"},
                         {"100,65", "65", "0", "reduce"},
                         {"1000", "", "0", "reduce"},
                         {"5,6,7", "6", "0,2", "reduce"},
                         {"5,6,70", "70", "0,1", "reduce"},
                         {"5,20,70", "5,70", "1", "reduce"},
                         {"4,50,1", "4", "1,2", "reduce"},
                         {"20000", "", "0", "reduce"},
                         {"2,16385", "2", "1", "reduce"},
                         {"600,48", "48", "0", "reduce"},       // vectors, split
                         {"1500,5", "5", "0", "reduce"},        // many parts, split
                         {"2,300,2", "2,2", "1", "reduce"},     // short pieces
                         {"40,130", "130", "0", "reduce"},      // two tiles
                         {"2,3,6,8", "3", "0,2,3", "reduce"},   // rows in several pieces
                         {"2,30,4,8", "2,4,8", "1", "reduce"},  // columns in several pieces
                         {"3,20,2,3,4", "20,3", "0,2,4", "reduce"},
                         {"0,5", "5", "0", "loop"}}) {
    CAPTURE(s.operand, s.dims);
    const auto reduce = [&](const char* type, const char* region) {
      return With(
          fmt::format("x = {0}[{1}] parameter(0)\nz = {0}[] parameter(1)\n"
                      "ROOT r = {0}[{2}] reduce(x, z), dimensions={{{3}}}, to_apply={4}",
                      type, s.operand, s.result, s.dims, region));
    };
    CHECK(RunGpuCase({reduce("f32", "add"), 2e-5}) == "");
    CHECK(RunGpuCase({reduce("s32", "addi")}) == "");
    CHECK(RunGpuCase({reduce("bf16", "addb"), 1e-2}) == "");
    CHECK_THAT(ThunksOf(reduce("f32", "add")), Catch::Matchers::StartsWith(s.family));
  }
}

TEST_CASE("reductions of complex numbers, of pred, and of two operands at once", "[gpu][reduce]") {
  for (const char* sizes : {"70,40", "40,70"}) {
    const int dim = sizes[0] == '7' ? 1 : 0;
    CAPTURE(sizes);
    CHECK(RunGpuCase({With(fmt::format("x = c64[{}] parameter(0)\nz = c64[] parameter(1)\n"
                                       "ROOT r = c64[70] reduce(x, z), dimensions={{{}}}, "
                                       "to_apply=mulc",
                                       sizes, dim)),
                      1e-4}) == "");
    CHECK(RunGpuCase({With(fmt::format("x = pred[{}] parameter(0)\nz = pred[] constant(true)\n"
                                       "ROOT r = pred[70] reduce(x, z), dimensions={{{}}}, "
                                       "to_apply=andp",
                                       sizes, dim))}) == "");
    CHECK(RunGpuCase({With(fmt::format(
              "x = f32[{0}] parameter(0)\ni = s32[{0}] parameter(1)\n"
              "lowest = f32[] constant(-inf)\nlast = s32[] constant(2147483647)\n"
              "ROOT r = (f32[70], s32[70]) reduce(x, i, lowest, last), dimensions={{{1}}}, "
              "to_apply=argmax",
              sizes, dim))}) == "");
  }
}

TEST_CASE("windows with padding, strides and dilations", "[gpu][window]") {
  CHECK(RunGpuCase({With("x = f32[13,17] parameter(0)\nz = f32[] constant(0)\n"
                         "ROOT r = f32[7,9] reduce-window(x, z), window={size=3x3 stride=2x2 "
                         "pad=1_1x1_1}, to_apply=add"),
                    1e-5}) == "");
  CHECK(RunGpuCase({With("x = f32[9] parameter(0)\nz = f32[] constant(0)\n"
                         "ROOT r = f32[13] reduce-window(x, z), window={size=3 pad=0_0 "
                         "lhs_dilate=2 rhs_dilate=2}, to_apply=add"),
                    1e-5}) == "");
}

TEST_CASE("dots of every size and type", "[gpu][dot]") {
  struct Case {
    const char *type, *lhs, *rhs, *result, *numbers;
    double tolerance;
  };
  for (const Case& c :
       {Case{"f32", "5,7", "7,3", "5,3", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
             1e-5},
        {"f32", "70,33", "33,90", "70,90", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         1e-5},
        {"f32", "33,70", "90,33", "70,90", "lhs_contracting_dims={0}, rhs_contracting_dims={1}",
         1e-5},
        {"f64", "17,18", "18,19", "17,19", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         1e-12},
        {"bf16", "17,18", "18,19", "17,19", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         2e-2},
        {"s32", "17,18", "18,19", "17,19", "lhs_contracting_dims={1}, rhs_contracting_dims={0}", 0},
        {"c64", "17,18", "18,19", "17,19", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         1e-4},
        {"f32", "3,5,40", "3,40,2", "3,5,2",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}",
         1e-5},
        {"f32", "400", "400", "", "lhs_contracting_dims={0}, rhs_contracting_dims={0}", 1e-5},
        {"f32", "2000", "2000,3", "3", "lhs_contracting_dims={0}, rhs_contracting_dims={0}", 1e-4},
        {"f32", "4,5", "6,7", "4,5,6,7", "lhs_contracting_dims={}, rhs_contracting_dims={}", 0}}) {
    CAPTURE(c.type, c.lhs, c.rhs);
    CHECK(RunGpuCase({With(fmt::format("x = {0}[{1}] parameter(0)\ny = {0}[{2}] parameter(1)\n"
                                       "ROOT r = {0}[{3}] dot(x, y), {4}",
                                       c.type, c.lhs, c.rhs, c.result, c.numbers)),
                      c.tolerance}) == "");
  }
}

TEST_CASE("convolutions with strides, dilations and groups", "[gpu][convolution]") {
  for (const char* body : {
           "x = f32[2,9,8,3] parameter(0)\nw = f32[3,2,3,4] parameter(1)\n"
           "ROOT r = f32[2,5,4,4] convolution(x, w), window={size=3x2 stride=2x2 pad=1_1x0_0}, "
           "dim_labels=b01f_01io->b01f",
           "x = f32[1,6,7] parameter(0)\nw = f32[3,2,4] parameter(1)\n"
           "ROOT r = f32[1,9,4] convolution(x, w), window={size=3 pad=1_1 lhs_dilate=2 "
           "rhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f, feature_group_count=1",
           "x = f32[2,5,6] parameter(0)\nw = f32[3,2,9] parameter(1)\n"
           "ROOT r = f32[2,3,9] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f, "
           "feature_group_count=3",
       }) {
    CAPTURE(body);
    std::string text = With(body);
    // The second one has as many input features as its filter.
    if (const size_t at = text.find("f32[1,6,7]"); at != std::string::npos)
      text.replace(at, 10, "f32[1,6,2]");
    CHECK(RunGpuCase({text, 1e-4}) == "");
  }
}

// Scatters of many windows that meet: of few results, whose updates are looked for, and others,
// which are sorted first and combined in order.
TEST_CASE("many windows that meet", "[gpu][scatter]") {
  const auto scatter = [](const char* type, const char* region, int rows) {
    return With(fmt::format(
        "x = {0}[{2},6] parameter(0)\ni = s32[150,1] parameter(1)\nu = {0}[150,6] parameter(2)\n"
        "ROOT r = {0}[{2},6] scatter(x, i, u), update_window_dims={{1}}, "
        "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, "
        "to_apply={1}",
        type, region, rows));
  };
  // Indices from -33 to 66: some do not fit, most places are met several times; one is met by all.
  CHECK(RunGpuCase({scatter("f32", "add", 40), 1e-6}) == "");
  CHECK(RunGpuCase({scatter("f32", "max", 20)}) == "");
  CHECK(RunGpuCase({scatter("s32", "addi", 3)}) == "");
  CHECK(RunGpuCase({scatter("bf16", "addb", 20)}) == "");
  CHECK(RunGpuCase({scatter("f32", "add", 100'000)}) == "");
  // Windows that are narrower than the result.
  for (const char* region : {"add", "max"}) {
    CHECK(RunGpuCase({With(fmt::format(
                          "x = f32[7,10] parameter(0)\ni = s32[100,1] parameter(1)\n"
                          "u = f32[100,6] parameter(2)\nROOT r = f32[7,10] scatter(x, i, u), "
                          "update_window_dims={{1}}, inserted_window_dims={{0}}, "
                          "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={}",
                          region)),
                      1e-6}) == "");
  }
  CHECK(CountKernels(PtxOf(scatter("f32", "add", 100'000))) >= 4);
  CHECK(CountKernels(PtxOf(scatter("f32", "add", 40))) <= 2);
  CHECK(RunGpuCase({With("x = f32[7] parameter(0)\ni = s64[100,1] parameter(1)\n"
                         "u = f32[100] parameter(2)\nROOT r = f32[7] scatter(x, i, u), "
                         "update_window_dims={}, inserted_window_dims={0}, "
                         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"),
                    1e-6}) == "");
}

TEST_CASE("sorts are stable, of any length and number of operands", "[gpu][sort]") {
  // Several lines in a tile, a line in one, and lines of several tiles.
  for (const int length : {1, 2, 3, 5, 32, 100, 257, 513, 1500}) {
    CAPTURE(length);
    CHECK(RunGpuCase({With(fmt::format("k = s32[3,{0}] parameter(0)\nv = f32[3,{0}] parameter(1)\n"
                                       "ROOT r = (s32[3,{0}], f32[3,{0}]) sort(k, v), "
                                       "dimensions={{1}}, is_stable=true, to_apply=less",
                                       length)),
                      0,
                      {},
                      false,
                      /*largest_integer=*/9}) == "");
    CHECK(RunGpuCase({With(fmt::format("v = f32[{0},5] parameter(0)\n"
                                       "ROOT r = f32[{0},5] sort(v), dimensions={{0}}, "
                                       "to_apply=greater",
                                       length))}) == "");
  }
}

TEST_CASE("top-k keeps the order of equal elements", "[gpu][topk]") {
  for (const char* largest : {"true", "false"}) {
    CHECK(RunGpuCase({With(fmt::format("x = f32[3,50] parameter(0)\n"
                                       "ROOT r = (f32[3,7], s32[3,7]) topk(x), k=7, largest={}",
                                       largest))}) == "");
    CHECK(RunGpuCase({With(fmt::format("x = s8[3,50] parameter(0)\n"
                                       "ROOT r = (s8[3,7], s32[3,7]) topk(x), k=7, largest={}",
                                       largest)),
                      0,
                      {},
                      false,
                      /*largest_integer=*/9}) == "");
  }
}

TEST_CASE("sorts of more than shared memory holds have smaller tiles", "[gpu][sort]") {
  std::string parameters, names, shapes, region;
  for (int i = 0; i < 13; ++i) {
    parameters += fmt::format("p{0} = f64[300] parameter({0})\n", i);
    names += fmt::format("{}p{}", i == 0 ? "" : ", ", i);
    shapes += fmt::format("{}f64[300]", i == 0 ? "" : ", ");
    region += fmt::format("a{0} = f64[] parameter({1})\nb{0} = f64[] parameter({2})\n", i, 2 * i,
                          2 * i + 1);
  }
  CHECK(RunGpuCase({fmt::format("HloModule m\nless {{\n{}ROOT c = pred[] compare(a0, b0), "
                                "direction=LT }}\nENTRY main {{\n{}ROOT r = ({}) sort({}), "
                                "dimensions={{0}}, is_stable=true, to_apply=less\n}}",
                                region, parameters, shapes, names)}) == "");
}

TEST_CASE("top-k of rows of several tiles, and of many of them", "[gpu][topk]") {
  struct Sizes {
    int rows, length, k;
  };
  for (const Sizes& s : {Sizes{2, 600, 5}, {1, 3000, 250}, {3, 700, 300}, {5, 40, 40}, {2, 1, 1}}) {
    CAPTURE(s.length, s.k);
    const std::string text = With(fmt::format(
        "x = s32[{0},{1}] parameter(0)\nROOT r = (s32[{0},{2}], s32[{0},{2}]) topk(x), k={2}, "
        "largest=true",
        s.rows, s.length, s.k));
    GpuCase test{text};
    test.largest_integer = 50;
    CHECK(RunGpuCase(test) == "");
  }
}

TEST_CASE("random bits are the interpreter's", "[gpu][rng]") {
  for (const char* shape :
       {"u32[7]", "u32[6,5]", "u32[5,3]", "u64[9]", "u8[13]", "u32[]", "f32[4]"}) {
    for (const char* algorithm : {"rng_philox", "rng_three_fry"}) {
      CAPTURE(shape, algorithm);
      CHECK(RunGpuCase({With(fmt::format("s = u64[2] parameter(0)\nROOT r = (u64[2], {}) "
                                         "rng-bit-generator(s), algorithm={}",
                                         shape, algorithm))}) == "");
    }
  }
}

TEST_CASE("while and conditional are run by the host", "[gpu][control]") {
  CHECK(RunGpuCase({R"(HloModule m
condition { p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[5] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[5] multiply(x, x)
  h = f32[] constant(0.5)
  hs = f32[5] broadcast(h), dimensions={}
  z = f32[5] add(y, hs)
  ROOT t = (s32[], f32[5]) tuple(j, z) }
yes { x = f32[5] parameter(0)
  ROOT r = f32[5] negate(x) }
no { x = f32[5] parameter(0)
  ROOT r = f32[5] sine(x) }
ENTRY main { x = f32[5] parameter(0)
  p = pred[] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[5]) tuple(zero, x)
  w = (s32[], f32[5]) while(s), condition=condition, body=body
  y = f32[5] get-tuple-element(w), index=1
  ROOT r = f32[5] conditional(p, y, x), true_computation=yes, false_computation=no
})"}) == "");
}

TEST_CASE("what nobody can compute is refused with its place", "[gpu][refusal]") {
  const std::string message = RefusalOf(R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  d = f32[4] custom-call(x), custom_call_target="nobody_knows"
  ROOT r = f32[4] custom-call(d), custom_call_target="nor_this"
})");
  CHECK_THAT(message,
             Catch::Matchers::Contains("4:3") &&
                 Catch::Matchers::Contains("no implementation of custom call `nobody_knows`") &&
                 Catch::Matchers::Contains("no implementation of custom call `nor_this`"));
}

TEST_CASE("PTX has vector accesses and no local memory", "[gpu][ptx]") {
  const std::string text =
      With("x = f32[1024] parameter(0)\ny = f32[1024] parameter(1)\nROOT r = f32[1024] add(x, y)");
  const std::string ptx = PtxOf(text);
  CHECK_THAT(ptx, Catch::Matchers::Contains(".target sm_90") &&
                      Catch::Matchers::Contains("ld.global.nc.v4.f32") &&
                      Catch::Matchers::Contains("st.global.v4.f32") &&
                      Catch::Matchers::Contains(".maxntid"));
  CHECK(ptx.find(".local") == std::string::npos);
  CHECK_THAT(PtxOf(text, "sm_12"), Catch::Matchers::Contains("unknown target `sm_12`"));
}

}  // namespace
}  // namespace hlo::gpu
