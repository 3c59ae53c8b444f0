// Products of matrices by tensor cores on the simulated GPU. Small integers are exact in bf16, f16
// and tf32, and so are their sums in f32: results are the interpreter's bits.
#include <catch2/catch.hpp>
#include <cstdio>

#include "backends/gpu/run_case.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

struct MatrixKind {
  const char *type, *algorithm;
};
constexpr MatrixKind kKinds[] = {{"bf16", ""},
                                 {"f16", ""},
                                 {"f32", ", algorithm=dot_tf32_tf32_f32"},
                                 {"f32", ", algorithm=dot_bf16_bf16_f32"}};

// A dot of integers that come as `type`.
std::string IntegerDot(std::string_view type, std::string_view lhs, std::string_view rhs,
                       std::string_view result, std::string_view attributes) {
  return fmt::format(
      "HloModule m\nENTRY main {{\nx = s32[{1}] parameter(0)\ny = s32[{2}] parameter(1)\n"
      "a = {0}[{1}] convert(x)\nb = {0}[{2}] convert(y)\nROOT r = f32[{3}] dot(a, b), {4}\n}}",
      type, lhs, rhs, result, attributes);
}

TEST_CASE("tensor cores multiply any sizes, however operands lie", "[gpu][mma]") {
  struct Layout {
    const char *lhs, *rhs, *result, *numbers;
  };
  for (const Layout& layout :
       {// Rows along the depth, columns along the columns; nothing is a multiple of anything.
        Layout{"17,21", "21,19", "17,19", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        {"70,40", "40,72", "70,72", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        // Both along the depth, or both across it.
        {"64,96", "64,96", "64,64", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
        {"40,64", "40,80", "64,80", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
        {"33,66", "18,33", "66,18", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
        // Batches, in front and in the middle.
        {"2,24,32", "2,32,40", "2,24,40",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}"},
        {"24,3,32", "40,3,32", "3,24,40",
         "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={2}"},
        // Two dimensions as one, on every side.
        {"4,6,5,8", "5,8,3,8", "4,6,3,8",
         "lhs_contracting_dims={2,3}, rhs_contracting_dims={0,1}"}}) {
    for (const MatrixKind& kind : kKinds) {
      CAPTURE(kind.type, kind.algorithm, layout.lhs, layout.rhs, layout.numbers);
      const std::string text = IntegerDot(kind.type, layout.lhs, layout.rhs, layout.result,
                                          std::string(layout.numbers) + kind.algorithm);
      GpuCase test;
      test.hlo = text;
      test.largest_integer = 30;
      CHECK(RunGpuCase(test) == "");
      CHECK_THAT(PtxOf(text), Catch::Matchers::Contains("mma.sync.aligned"));
    }
  }
}

TEST_CASE("blocks share the depth of products with few tiles", "[gpu][mma]") {
  struct Sizes {
    const char *lhs, *rhs, *result, *numbers;
  };
  constexpr const char* kPlain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  for (const Sizes& sizes :
       {Sizes{"40,600", "600,72", "40,72", kPlain},  // the last part is shorter than the others
        {"64,512", "512,64", "64,64", kPlain},       // whole tiles and parts
        {"17,1031", "1031,23", "17,23", kPlain},     // nothing is a multiple of anything
        {"300,20", "300,40", "20,40", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
        {"2,24,384", "2,384,40", "2,24,40",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}"}}) {
    std::vector<MatrixKind> kinds(std::begin(kKinds), std::end(kKinds));
    for (const char* type : {"f32", "f64", "c64", "s8"}) kinds.push_back({type, ""});
    for (const MatrixKind& kind : kinds) {
      CAPTURE(kind.type, kind.algorithm, sizes.lhs, sizes.rhs, sizes.numbers);
      std::string text = IntegerDot(kind.type, sizes.lhs, sizes.rhs, sizes.result,
                                    std::string(sizes.numbers) + kind.algorithm);
      const std::string type = kind.type;
      if (type == "c64" || type == "f64") text.replace(text.find("f32["), 3, type);
      if (type == "s8") text.replace(text.find("f32["), 3, "s32");
      GpuCase test;
      test.hlo = text;
      test.largest_integer = 10;
      CHECK(RunGpuCase(test) == "");
      CHECK(CountKernels(PtxOf(text)) >= 2);
    }
  }
}

TEST_CASE("large tiles, with and without tensor cores", "[gpu][mma]") {
  constexpr MatrixKind kAll[] = {kKinds[0], kKinds[1], kKinds[2], kKinds[3], {"f32", ""}};
  for (const MatrixKind& kind : kAll) {
    CAPTURE(kind.type, kind.algorithm);
    // 10 x 12 tiles of 128, of which the last ones are not full; a depth that ends inside a stage.
    const std::string text = IntegerDot(
        kind.type, "1216,40", "40,1416", "1216,1416",
        fmt::format("lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{}", kind.algorithm));
    // Factors that are rounded on the way have tiles of 64.
    const bool is_rounded = &kind == &kAll[3];
    CHECK_THAT(PtxOf(text),
               Catch::Matchers::Contains(is_rounded ? ".maxntid 128" : ".maxntid 256"));
    GpuCase test;
    test.hlo = text;
    test.largest_integer = 30;
    CHECK(RunGpuCase(test) == "");
  }
}

TEST_CASE("narrow results are rounded once", "[gpu][mma]") {
  for (const char* type : {"bf16", "f16"}) {
    CAPTURE(type);
    CHECK(RunGpuCase({fmt::format("HloModule m\nENTRY main {{\nx = {0}[48,64] parameter(0)\n"
                                  "y = {0}[64,48] parameter(1)\nROOT r = {0}[48,48] dot(x, y), "
                                  "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}",
                                  type),
                      1e-2}) == "");
  }
}

TEST_CASE("products with few rows read the other side once", "[gpu][dot]") {
  struct Layout {
    const char *lhs, *rhs, *result, *numbers;
  };
  constexpr const char* kColumns = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  constexpr const char* kRows = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  for (const Layout& layout :
       {Layout{"1,70", "70,40", "1,40", kColumns},
        {"4,600", "600,520", "4,520", kColumns},
        {"3,2100", "2100,16", "3,16", kColumns},
        {"5,96", "96,48", "5,48", kColumns},
        {"16,300", "300,70", "16,70", kColumns},
        {"9,70", "9,70", "9,9", kRows},
        {"2,600", "37,600", "2,37", kRows},
        {"1,2056", "9,2056", "1,9", kRows},
        // The right side is the narrow one.
        {"520,600", "2,600", "520,2", kRows},
        {"600,48", "600,3", "48,3", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
        {"2,3,64", "2,64,24", "2,3,24",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}"},
        {"64,48", "64", "48", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"}}) {
    for (const char* type : {"f32", "bf16", "f64", "c64", "s8"}) {
      CAPTURE(type, layout.lhs, layout.rhs, layout.numbers);
      std::string text = IntegerDot(type, layout.lhs, layout.rhs, layout.result, layout.numbers);
      if (type[0] == 'c') text.replace(text.find("f32["), 3, "c64");
      if (type[0] == 's') text.replace(text.find("f32["), 3, "s32");
      GpuCase test;
      test.hlo = text;
      test.largest_integer = 10;
      CHECK(RunGpuCase(test) == "");
    }
  }
}

TEST_CASE("operands with scales of blocks", "[gpu][dot]") {
  for (const char* sizes : {"24,32 32,40 24,4 1,40", "2,64 64,3 2,2 64,1"}) {
    CAPTURE(sizes);
    char lhs[16], rhs[16], lhs_scale[16], rhs_scale[16];
    REQUIRE(sscanf(sizes, "%15s %15s %15s %15s", lhs, rhs, lhs_scale, rhs_scale) == 4);
    const std::string rows(lhs, std::string_view(lhs).find(','));
    const std::string columns(std::string_view(rhs).substr(std::string_view(rhs).find(',') + 1));
    for (const char* type : {"bf16", "f32", "f8e4m3fn"}) {
      CAPTURE(type);
      CHECK(RunGpuCase({fmt::format("HloModule m\nENTRY main {{\nx = {0}[{1}] parameter(0)\n"
                                    "y = {0}[{2}] parameter(1)\ns = bf16[{3}] parameter(2)\n"
                                    "t = f32[{4}] parameter(3)\nROOT r = f32[{5},{6}] "
                                    "scaled-dot(x, y, s, t), lhs_contracting_dims={{1}}, "
                                    "rhs_contracting_dims={{0}}\n}}",
                                    type, lhs, rhs, lhs_scale, rhs_scale, rows, columns),
                        1e-4}) == "");
    }
  }
}

TEST_CASE("no tensor core multiplies f32 unasked", "[gpu][mma]") {
  const std::string ptx = PtxOf(IntegerDot("f32", "64,64", "64,64", "64,64",
                                           "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  CHECK(ptx.find("mma.sync") == std::string::npos);
}

TEST_CASE("convolutions are products of matrices", "[gpu][mma]") {
  struct Case {
    const char *input, *filter, *result, *numbers;
  };
  for (const Case& c :
       {Case{"2,7,6,16", "3,3,16,24", "2,7,6,24",
             "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
        {"2,16,9,8", "24,16,3,2", "2,24,5,4",
         "window={size=3x2 stride=2x2 pad=1_1x0_0}, dim_labels=bf01_oi01->bf01"},
        {"1,8,9,24", "2,3,12,32", "1,7,7,32",
         "window={size=2x3}, dim_labels=b01f_01io->b01f, feature_group_count=2"},
        {"1,5,20", "3,20,17", "1,11,17",
         "window={size=3 pad=2_2 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f"}}) {
    for (const char* type : {"bf16", "f16", "f32", "c64"}) {
      CAPTURE(c.input, c.filter, type);
      const std::string text = fmt::format(
          "HloModule m\nENTRY main {{\nx = s32[{1}] parameter(0)\ny = s32[{2}] parameter(1)\n"
          "a = {0}[{1}] convert(x)\nb = {0}[{2}] convert(y)\n"
          "ROOT r = {5}[{3}] convolution(a, b), {4}\n}}",
          type, c.input, c.filter, c.result, c.numbers, type[0] == 'c' ? "c64" : "f32");
      GpuCase test;
      test.hlo = text;
      test.largest_integer = 30;
      CHECK(RunGpuCase(test) == "");
    }
  }
}

}  // namespace
}  // namespace hlo::gpu
