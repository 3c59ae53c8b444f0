#include <catch2/catch.hpp>

#include "backends/cpu/families/kernel_test.h"

namespace hlo::cpu {
namespace {

// A module whose entry applies one instruction (`root` reads parameters named p0, p1, …).
std::string Module(std::string_view parameters, std::string_view root) {
  return fmt::format("HloModule m\nENTRY main {{\n{}\n  ROOT r = {}\n}}\n", parameters, root);
}

TEST_CASE("movements alone give the interpreter's elements", "[cpu][movement]") {
  const std::pair<const char*, const char*> cases[] = {
      {"p0 = f32[7] parameter(0)", "f32[5,7] broadcast(p0), dimensions={1}"},
      {"p0 = f32[5] parameter(0)", "f32[5,19] broadcast(p0), dimensions={0}"},
      {"p0 = f32[3,5] parameter(0)", "f32[2,3,4,5] broadcast(p0), dimensions={1,3}"},
      {"p0 = f32[6,10] parameter(0)", "f32[4,15] reshape(p0)"},
      {"p0 = f32[6,10] parameter(0)", "f32[3,2,2,5] reshape(p0)"},
      {"p0 = f32[13,21] parameter(0)", "f32[21,13] transpose(p0), dimensions={1,0}"},
      {"p0 = f32[16,32] parameter(0)", "f32[32,16] transpose(p0), dimensions={1,0}"},
      {"p0 = f32[3,17,9] parameter(0)", "f32[9,3,17] transpose(p0), dimensions={2,0,1}"},
      {"p0 = f32[2,3,17,9] parameter(0)", "f32[2,17,3,9] transpose(p0), dimensions={0,2,1,3}"},
      {"p0 = f32[13,21] parameter(0)", "f32[13,21] reverse(p0), dimensions={1}"},
      {"p0 = f32[13,21] parameter(0)", "f32[13,21] reverse(p0), dimensions={0,1}"},
      {"p0 = f32[13,41] parameter(0)", "f32[6,20] slice(p0), slice={[1:13:2], [3:23]}"},
      {"p0 = f32[13,41] parameter(0)", "f32[6,13] slice(p0), slice={[1:13:2], [2:41:3]}"},
      {"p0 = f32[5,9] parameter(0)\n p1 = f32[5,20] parameter(1)\n p2 = f32[5,1] parameter(2)",
       "f32[5,30] concatenate(p0, p1, p2), dimensions={1}"},
      {"p0 = f32[5,9] parameter(0)\n p1 = f32[2,9] parameter(1)",
       "f32[7,9] concatenate(p0, p1), dimensions={0}"},
      {"p0 = f32[5,9] parameter(0)\n p1 = f32[] parameter(1)",
       "f32[8,23] pad(p0, p1), padding=1_2x4_10"},
      {"p0 = f32[5,9] parameter(0)\n p1 = f32[] parameter(1)",
       "f32[11,25] pad(p0, p1), padding=1_1_1x-1_1_2"},
      {"p0 = f32[5,9] parameter(0)\n p1 = f32[] parameter(1)",
       "f32[4,7] pad(p0, p1), padding=-1_0x-3_1"},
      {"", "f32[5,19] iota(), iota_dimension=1"},
      {"", "s32[5,19] iota(), iota_dimension=0"},
      {"", "bf16[300] iota(), iota_dimension=0"},
      {"p0 = f32[10,33] parameter(0)\n p1 = s32[] parameter(1)\n p2 = s32[] parameter(2)",
       "f32[4,17] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={4,17}"},
      {"p0 = f32[10,33] parameter(0)\n p1 = f32[3,20] parameter(1)\n p2 = s32[] parameter(2)\n p3 "
       "= s32[] parameter(3)",
       "f32[10,33] dynamic-update-slice(p0, p1, p2, p3)"},
      {"p0 = f32[20,33] parameter(0)\n p1 = s32[11] parameter(1)",
       "f32[11,33] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
       "index_vector_dim=1, "
       "slice_sizes={1,33}"},
      {"p0 = f32[20,33] parameter(0)\n p1 = s32[40,2] parameter(1)",
       "f32[40] gather(p0, p1), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
       "index_vector_dim=1, slice_sizes={1,1}"},
      {"p0 = f32[4,20,33] parameter(0)\n p1 = s32[4,6,1] parameter(1)",
       "f32[4,6,33] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, "
       "start_index_map={1}, "
       "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
       "slice_sizes={1,1,33}"},
      {"p0 = s8[5,70] parameter(0)", "s8[70,5] transpose(p0), dimensions={1,0}"},
      {"p0 = bf16[5,70] parameter(0)\n p1 = bf16[] parameter(1)",
       "bf16[8,75] pad(p0, p1), padding=1_2x2_3"},
      {"p0 = c64[5,9] parameter(0)", "c64[9,5] transpose(p0), dimensions={1,0}"},
      {"p0 = f64[5,9] parameter(0)", "f64[5,9] reverse(p0), dimensions={1}"},
  };
  for (const auto& [parameters, root] : cases) {
    CAPTURE(root);
    CHECK(RunKernelCase({Module(parameters, root)}) == "");
  }
}

TEST_CASE("movements inside a fusion fold into addresses", "[cpu][movement]") {
  const std::string fused = R"(
HloModule m
f {
  x = f32[4,6,10] parameter(0)
  b = f32[10] parameter(1)
  e = f32[4,6,10] exponential(x)
  t = f32[6,4,10] transpose(e), dimensions={1,0,2}
  r = f32[24,10] reshape(t)
  bb = f32[24,10] broadcast(b), dimensions={1}
  s = f32[24,10] add(r, bb)
  c = f32[24,20] concatenate(s, r), dimensions={1}
  z = f32[] constant(0.5)
  p = f32[26,25] pad(c, z), padding=1_1x2_3
  n = f32[26,25] negate(p)
  ROOT o = f32[25,26] transpose(n), dimensions={1,0}
}
ENTRY main {
  x = f32[4,6,10] parameter(0)
  b = f32[10] parameter(1)
  ROOT r = f32[25,26] fusion(x, b), kind=kLoop, calls=f
})";
  CHECK(RunKernelCase({fused}) == "");
}

TEST_CASE("a pure chain through reshapes runs in one loop", "[cpu][movement]") {
  const std::string text = KernelText(R"(
HloModule m
f {
  x = f32[32,64] parameter(0)
  a = f32[2048] reshape(x)
  b = f32[2048] negate(a)
  ROOT c = f32[4,512] reshape(b)
}
ENTRY main {
  x = f32[32,64] parameter(0)
  ROOT r = f32[4,512] fusion(x), kind=kLoop, calls=f
})");
  CAPTURE(text);
  CHECK(text.find("loop") != std::string::npos);
  CHECK(text.find("loop", text.find("loop") + 1) == std::string::npos);
}

TEST_CASE("lanes are gathered in one instruction where there is one", "[cpu][movement]") {
  const auto assembly_of = [](std::string_view type, std::string_view cpu, int vector_bytes) {
    const std::string hlo = fmt::format(R"(
HloModule m
ENTRY main {{
  x = {0}[90] parameter(0)
  i = s32[64] parameter(1)
  ROOT r = {0}[64] gather(x, i), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
}})",
                                        type);
    return KernelAssembly(hlo, cpu, vector_bytes);
  };
  const auto gathers = [](const std::string& assembly) {
    return assembly.find("gather") != std::string::npos;
  };
  CHECK(gathers(assembly_of("f32", "x86-64-v4", 64)));
  CHECK(gathers(assembly_of("s64", "x86-64-v4", 64)));
  CHECK(gathers(assembly_of("c64", "x86-64-v4", 64)));
  CHECK_FALSE(gathers(assembly_of("bf16", "x86-64-v4", 64)));
  CHECK_FALSE(gathers(assembly_of("c128", "x86-64-v4", 64)));
  CHECK_FALSE(gathers(assembly_of("f32", "x86-64-v3", 32)));
}

}  // namespace
}  // namespace hlo::cpu
