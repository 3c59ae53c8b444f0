// Properties of opcodes that the golden cases in testdata do not show: sizes beyond a block,
// regions of every kind, dynamic sizes.
#include "lib/eval/eval_test_util.h"

namespace hlo {
namespace {

using Catch::Matchers::Contains;
using eval_test::Entry;
using eval_test::Eval;
using eval_test::kAddF32;

TEST_CASE("a reduce over more lanes than a block sees every element", "[eval][reduce]") {
  // Column sums of iota: column j of 3 rows of 1000 gives 3 j + 3000.
  const std::string text = Entry(R"(x = s32[3,1000] iota(), iota_dimension=1
  y = s32[3,1000] iota(), iota_dimension=0
  k = s32[] constant(1000)
  kk = s32[3,1000] broadcast(k), dimensions={}
  m = s32[3,1000] multiply(y, kk)
  z = s32[3,1000] add(x, m)
  zero = s32[] constant(0)
  sums = s32[1000] reduce(z, zero), dimensions={0}, to_apply=add_s32
  ROOT r = s32[2] slice(sums), slice={[0:1000:999]})",
                                 "add_s32 {\n p = s32[] parameter(0)\n q = s32[] parameter(1)\n "
                                 "ROOT s = s32[] add(p, q)\n}\n");
  CHECK(Eval(text) == "s32[2] {3000, 5997}");
}

TEST_CASE("a float sum is rounded once", "[eval][reduce]") {
  // In f32, 1 + 2^-24 would stay 1 at each step.
  const std::string text = Entry(
      "x = f32[5] parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add_f32",
      kAddF32);
  CHECK(Eval(text, {"f32[5] {1, 5.9604645e-08, 5.9604645e-08, 5.9604645e-08, 5.9604645e-08}"}) ==
        "f32[] 1.00000024");
}

TEST_CASE("an argmax reduces two operands together", "[eval][reduce]") {
  const std::string text = Entry(R"(x = f32[2,4] parameter(0)
  i = s32[2,4] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  ROOT r = (f32[2], s32[2]) reduce(x, i, low, zero), dimensions={1}, to_apply=argmax)",
                                 R"(argmax {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  keep = pred[] or(gt, tie)
  v = f32[] select(keep, a, b)
  k = s32[] select(keep, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}
)");
  CHECK(Eval(text, {"f32[2,4] { {1, 7, 7, 2}, {-1, -3, -1, -9} }"}) ==
        "(f32[2], s32[2]) ( {7, -1}, {1, 0} )");
}

TEST_CASE("a region with a loop is evaluated, not compiled", "[eval][region]") {
  const std::string text =
      Entry("x = s32[3] parameter(0)\n  ROOT r = s32[3] map(x), dimensions={0}, to_apply=factorial",
            R"(more {
  s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ROOT c = pred[] compare(n, one), direction=GT
}
step {
  s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  p = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] subtract(n, one)
  q = s32[] multiply(p, n)
  ROOT t = (s32[], s32[]) tuple(m, q)
}
factorial {
  n = s32[] parameter(0)
  one = s32[] constant(1)
  init = (s32[], s32[]) tuple(n, one)
  w = (s32[], s32[]) while(init), condition=more, body=step
  ROOT r = s32[] get-tuple-element(w), index=1
}
)");
  CHECK(Eval(text, {"s32[3] {1, 5, 10}"}) == "s32[3] {1, 120, 3628800}");
}

TEST_CASE("scatter takes any region and keeps windows longer than a block in order",
          "[eval][scatter]") {
  const std::string text = Entry(R"(x = s32[2,300] iota(), iota_dimension=1
  i = s32[3] constant({1, 1, 2})
  u = s32[3,300] iota(), iota_dimension=0
  s = s32[2,300] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=mix
  ROOT r = s32[2,2] slice(s), slice={[0:2], [0:300:299]})",
                                 R"(mix {
  c = s32[] parameter(0)
  u = s32[] parameter(1)
  two = s32[] constant(2)
  d = s32[] multiply(c, two)
  ROOT r = s32[] add(d, u)
}
)");
  // Row 1: 2 (2 x + 0) + 1; the window at row 2 does not fit.
  CHECK(Eval(text) == "s32[2,2] { { 0, 299 }, { 1, 1197 } }");
}

TEST_CASE("a cumulative window is linear and exact", "[eval][reduce-window]") {
  const std::string text = Entry(R"(o = s32[] constant(1)
  x = s32[100000] broadcast(o), dimensions={}
  z = s32[] constant(0)
  w = s32[100000] reduce-window(x, z), window={size=100000 pad=99999_0}, to_apply=add_s32
  ROOT r = s32[2] slice(w), slice={[0:100000:99999]})",
                                 "add_s32 {\n p = s32[] parameter(0)\n q = s32[] parameter(1)\n "
                                 "ROOT s = s32[] add(p, q)\n}\n");
  CHECK(Eval(text) == "s32[2] {1, 100000}");
}

TEST_CASE("a cumulative window from the end starts with its first element",
          "[eval][reduce-window]") {
  const std::string text = Entry(R"(x = s32[4] parameter(0)
  z = s32[] constant(0)
  ROOT w = s32[4] reduce-window(x, z), window={size=4 pad=0_3}, to_apply=first)",
                                 "first {\n p = s32[] parameter(0)\n q = s32[] parameter(1)\n "
                                 "t = s32[] constant(10)\n m = s32[] multiply(p, t)\n "
                                 "ROOT s = s32[] add(m, q)\n}\n");
  CHECK(Eval(text, {"s32[4] {1, 2, 3, 4}"}) == "s32[4] {1234, 234, 34, 4}");
}

TEST_CASE("sort is stable whatever the comparator", "[eval][sort]") {
  // By the last digit only: a comparator that is no plain comparison of keys.
  const std::string text =
      Entry("x = s32[6] parameter(0)\n  ROOT r = s32[6] sort(x), dimensions={0}, to_apply=by_digit",
            R"(by_digit {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ten = s32[] constant(10)
  x = s32[] remainder(a, ten)
  y = s32[] remainder(b, ten)
  ROOT c = pred[] compare(x, y), direction=LT
}
)");
  CHECK(Eval(text, {"s32[6] {31, 11, 20, 2, 10, 21}"}) == "s32[6] {20, 10, 31, 11, 21, 2}");
}

TEST_CASE("a dot in f32 sums in ascending order of the contracted index", "[eval][dot]") {
  const std::string text = Entry(
      "x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n"
      "  ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}");
  CHECK(Eval(text, {"f32[3] {1e8, 1, -1e8}", "f32[3] {1, 1, 1}"}) == "f32[] 0");
  CHECK(Eval(text, {"f32[3] {1e8, -1e8, 1}", "f32[3] {1, 1, 1}"}) == "f32[] 1");
}

TEST_CASE("padding of a convolution is no product with zero", "[eval][convolution]") {
  const std::string text = Entry(
      "x = f32[1,2,1] parameter(0)\n  k = f32[3,1,1] parameter(1)\n"
      "  ROOT r = f32[1,2,1] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f");
  CHECK(Eval(text, {"f32[1,2,1] { { {1}, {2} } }", "f32[3,1,1] { { {inf} }, { {1} }, { {0} } }"}) ==
        "f32[1,2,1] { { {1}, {inf} } }");
}

TEST_CASE("dynamic dimensions take part with their run-time sizes", "[eval][dynamic]") {
  const std::string text = Entry(R"(x = f32[4] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=4] set-dimension-size(x, n), dimensions={0}
  e = f32[<=4] add(d, d)
  c = f32[<=8] concatenate(e, x), dimensions={0}
  z = f32[] constant(0)
  sum = f32[] reduce(c, z), dimensions={0}, to_apply=add_f32
  size = s32[] get-dimension-size(c), dimensions={0}
  ROOT r = (f32[], s32[]) tuple(sum, size))",
                                 kAddF32);
  CHECK(Eval(text, {"f32[4] {1, 2, 3, 4}", "s32[] 2"}) == "(f32[], s32[]) ( 16, 6 )");
  CHECK_THAT(Eval(text, {"f32[4] {1, 2, 3, 4}", "s32[] 5"}), Contains("sets dimension 0 to 5"));
}

TEST_CASE("sub-byte integers wrap in their width", "[eval][narrow]") {
  CHECK(Eval(Entry("x = s4[3] parameter(0)\n  y = s4[3] parameter(1)\n  ROOT r = s4[3] add(x, y)"),
             {"s4[3] {7, -8, 3}", "s4[3] {1, -1, 4}"}) == "s4[3] {-8, 7, 7}");
  CHECK(Eval(Entry("x = u4[2] parameter(0)\n  ROOT r = u4[2] count-leading-zeros(x)"),
             {"u4[2] {0, 1}"}) == "u4[2] {4, 3}");
}

TEST_CASE("narrow floats are rounded after every operation", "[eval][narrow]") {
  CHECK(Eval(Entry("x = bf16[] parameter(0)\n  one = bf16[] constant(1)\n  y = bf16[] add(x, "
                   "one)\n  ROOT r = bf16[] subtract(y, x)"),
             {"bf16[] 256"}) == "bf16[] 0");
}

TEST_CASE("a bitcast reinterprets the bytes under both layouts", "[eval][bitcast]") {
  CHECK(Eval(Entry("x = s32[2,3]{0,1} parameter(0)\n  ROOT r = s32[3,2]{1,0} bitcast(x)"),
             {"s32[2,3] { {1, 2, 3}, {4, 5, 6} }"}) == "s32[3,2] { { 1, 4 }, { 2, 5 }, { 3, 6 } }");
}

}  // namespace
}  // namespace hlo
