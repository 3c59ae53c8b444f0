#include <catch2/catch.hpp>

#include "backends/cpu/families/kernel_test.h"

namespace hlo::cpu {
namespace {

constexpr std::string_view kRows = R"(
HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[20,37] parameter(0)
  i = s32[9,1] parameter(1)
  u = f32[9,37] parameter(2)
  ROOT r = f32[20,37] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
})";

Literal Indices(std::initializer_list<int32_t> values, std::initializer_list<int64_t> dims) {
  const std::vector<int32_t> list(values);
  return Literal::Array<int32_t>(Shape::Array(ElementType::kS32, std::vector<int64_t>(dims)), list);
}

TEST_CASE("scatter adds rows, repeated and out-of-bounds ones included", "[cpu][scatter]") {
  KernelCase test{kRows};
  test.arguments = {RandomLiteral(Shape::Array(ElementType::kF32, {20, 37}), 1),
                    Indices({3, 3, 19, 20, -1, 0, 3, 7, 19}, {9, 1}),
                    RandomLiteral(Shape::Array(ElementType::kF32, {9, 37}), 2)};
  CHECK(RunKernelCase(test) == "");
  test.options.shared = {{0, 0}};
  CHECK(RunKernelCase(test) == "");
}

TEST_CASE("scatter of single elements", "[cpu][scatter]") {
  KernelCase test{R"(
HloModule m
set { a = s32[] parameter(0)
  ROOT b = s32[] parameter(1) }
ENTRY main {
  x = s32[20,37] parameter(0)
  i = s32[6,2] parameter(1)
  u = s32[6] parameter(2)
  ROOT r = s32[20,37] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0,1},
      scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=set
})"};
  test.arguments = {RandomLiteral(Shape::Array(ElementType::kS32, {20, 37}), 1),
                    Indices({3, 3, 19, 36, 0, 37, 0, 0, 3, 3, 7, -5}, {6, 2}),
                    RandomLiteral(Shape::Array(ElementType::kS32, {6}), 2)};
  CHECK(RunKernelCase(test) == "");
  test.options.shared = {{0, 0}};
  CHECK(RunKernelCase(test) == "");
}

TEST_CASE("dynamic-update-slice writes only its window when it shares the buffer",
          "[cpu][scatter]") {
  KernelCase test{R"(
HloModule m
f {
  x = f32[10,33] parameter(0)
  u = f32[3,20] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  n = f32[3,20] negate(u)
  ROOT r = f32[10,33] dynamic-update-slice(x, n, i, j)
}
ENTRY main {
  x = f32[10,33] parameter(0)
  u = f32[3,20] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = f32[10,33] fusion(x, u, i, j), kind=kLoop, calls=f
})"};
  for (const int start : {-4, 0, 2, 100}) {
    CAPTURE(start);
    test.arguments = {RandomLiteral(Shape::Array(ElementType::kF32, {10, 33}), 1),
                      RandomLiteral(Shape::Array(ElementType::kF32, {3, 20}), 2),
                      Indices({start}, {}), Indices({start}, {})};
    test.options.shared = {};
    CHECK(RunKernelCase(test) == "");
    test.options.shared = {{0, 0}};
    CHECK(RunKernelCase(test) == "");
  }
}

}  // namespace
}  // namespace hlo::cpu
