// Opcodes that move elements, alone and in chains, on the simulated GPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

std::string MainOf(std::string_view body) {
  return fmt::format("HloModule m\nENTRY main {{\n{}\n}}", body);
}

TEST_CASE("movements agree with the interpreter", "[gpu][movement]") {
  for (const char* body : {
           "x = f32[5,7] parameter(0)\n ROOT r = f32[3,5,7] broadcast(x), dimensions={1,2}",
           "x = f32[6,35] parameter(0)\n ROOT r = f32[14,15] reshape(x)",
           "x = f32[5,7,3] parameter(0)\n ROOT r = f32[3,5,7] transpose(x), dimensions={2,0,1}",
           "x = f32[40,70] parameter(0)\n ROOT r = f32[70,40] transpose(x), dimensions={1,0}",
           "x = c128[33,3,17] parameter(0)\n ROOT r = c128[17,3,33] transpose(x), "
           "dimensions={2,1,0}",
           "x = s8[2,65,3,31] parameter(0)\n ROOT r = s8[2,3,31,65] transpose(x), "
           "dimensions={0,2,3,1}",
           "x = f32[9,11] parameter(0)\n ROOT r = f32[4,5] slice(x), slice={[1:9:2], [0:10:2]}",
           "x = f32[9,11] parameter(0)\n ROOT r = f32[9,11] reverse(x), dimensions={0,1}",
           "x = f32[3,4] parameter(0)\n y = f32[3,5] parameter(1)\n"
           "ROOT r = f32[3,13] concatenate(x, y, x), dimensions={1}",
           "x = f32[3,4] parameter(0)\n z = f32[] parameter(1)\n"
           "ROOT r = f32[10,9] pad(x, z), padding=1_2_2x-1_3_1",
           "ROOT r = s32[4,5] iota(), iota_dimension=1",
           "x = f32[5,3] parameter(0)\n ROOT r = u8[5,3,4] bitcast-convert(x)",
           "x = s16[7,4] parameter(0)\n ROOT r = f64[7] bitcast-convert(x)",
           "ROOT r = bf16[300] iota(), iota_dimension=0",
           "x = f32[7,9] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
           "ROOT r = f32[3,4] dynamic-slice(x, i, j), dynamic_slice_sizes={3,4}",
           "x = f32[7,9] parameter(0)\n u = f32[3,4] parameter(1)\n i = s32[] parameter(2)\n"
           "j = s32[] parameter(3)\nROOT r = f32[7,9] dynamic-update-slice(x, u, i, j)",
           "x = f32[7,9] parameter(0)\n i = s32[5,1] parameter(1)\n"
           "ROOT r = f32[5,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
           "start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}",
           "x = f32[0,9] parameter(0)\n ROOT r = f32[9,0] transpose(x), dimensions={1,0}",
       }) {
    CAPTURE(body);
    CHECK(RunGpuCase({MainOf(body)}) == "");
    CHECK(RunGpuCase({MainOf(body), 0, {}, /*run_passes=*/true}) == "");
  }
}

TEST_CASE("chains of movements become one kernel", "[gpu][movement]") {
  const std::string text = MainOf(R"(
  x = f32[6,8] parameter(0)
  y = f32[8] parameter(1)
  a = f32[8,6] transpose(x), dimensions={1,0}
  b = f32[6,8] broadcast(y), dimensions={1}
  c = f32[6,8] add(x, b)
  d = f32[3,2,8] reshape(c)
  e = f32[3,2,4] slice(d), slice={[0:3], [0:2], [2:6]}
  ROOT r = f32[3,2,4] exponential(e))");
  CHECK(RunGpuCase({text, 0, {}, /*run_passes=*/true}) == "");
  const std::string thunks = ThunksOf(text, /*run_passes=*/true);
  CAPTURE(thunks);
  CHECK(std::count(thunks.begin(), thunks.end(), '\n') == 1);
}

TEST_CASE("dynamic-update-slice writes into its operand where it may", "[gpu][movement]") {
  const std::string text = MainOf(R"(
  x = f32[64,32] parameter(0)
  u = f32[3,4] parameter(1)
  i = s32[] parameter(2)
  y = f32[64,32] negate(x)
  s = f32[64,32] dynamic-update-slice(y, u, i, i)
  ROOT r = f32[64,32] dynamic-update-slice(s, u, i, i))");
  CHECK(RunGpuCase({text}) == "");
  CHECK_THAT(ThunksOf(text), Catch::Matchers::Contains("update s "));
}

constexpr std::string_view kAdd = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main {
)";

TEST_CASE("scatter combines in the interpreter's order", "[gpu][scatter]") {
  for (const char* body : {
           // Rows that meet.
           "x = f32[7,9] parameter(0)\n i = s32[20,1] parameter(1)\n u = f32[20,9] parameter(2)\n"
           "ROOT r = f32[7,9] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }",
           // Windows that overlap in part.
           "x = f32[17] parameter(0)\n i = s32[6,1] parameter(1)\n u = f32[6,5] parameter(2)\n"
           "ROOT r = f32[17] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }",
           "x = f32[40] parameter(0)\n i = s32[3,1] constant({{4},{1},{9}})\n"
           "u = f32[3] parameter(1)\n"
           "ROOT r = f32[40] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, "
           "to_apply=add }",
       }) {
    CAPTURE(body);
    const std::string text = std::string(kAdd) + body;
    CHECK(RunGpuCase({text, 0, {}, false, /*largest_integer=*/12}) == "");
  }
}

}  // namespace
}  // namespace hlo::gpu
