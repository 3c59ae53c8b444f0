#include <catch2/catch.hpp>

#include "backends/cpu/families/kernel_test.h"

namespace hlo::cpu {
namespace {

TEST_CASE("an elementwise chain is bit-equal with the interpreter at every size", "[cpu][loop]") {
  for (const int n : {1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 2048, 5000}) {
    const std::string hlo = fmt::format(R"(
HloModule m
f {{
  x = f32[{0}] parameter(0)
  y = f32[{0}] parameter(1)
  one = f32[] constant(1)
  ones = f32[{0}] broadcast(one), dimensions={{}}
  t = f32[{0}] tanh(x)
  e = f32[{0}] exponential(y)
  s = f32[{0}] add(t, e)
  d = f32[{0}] divide(s, ones)
  ROOT m = f32[{0}] multiply(d, x)
}}
ENTRY main {{
  x = f32[{0}] parameter(0)
  y = f32[{0}] parameter(1)
  ROOT r = f32[{0}] fusion(x, y), kind=kLoop, calls=f
}})",
                                        n);
    CAPTURE(n);
    CHECK(RunKernelCase({hlo}) == "");
  }
}

TEST_CASE("kernels use the vectors of the processor they are for", "[cpu][loop]") {
  constexpr std::string_view kHlo = R"(
HloModule m
f {
  x = f32[1024] parameter(0)
  e = f32[1024] exponential(x)
  h = f16[1024] convert(e)
  ROOT t = (f32[1024], f16[1024]) tuple(e, h)
}
ENTRY main {
  x = f32[1024] parameter(0)
  ROOT r = (f32[1024], f16[1024]) fusion(x), kind=kLoop, calls=f
})";
  const std::string avx512 = KernelAssembly(kHlo, "x86-64-v4", 64);
  CHECK(avx512.find("%zmm") != std::string::npos);
  const std::string avx2 = KernelAssembly(kHlo, "x86-64-v3", 32);
  CHECK(avx2.find("%ymm") != std::string::npos);
  CHECK(avx2.find("%zmm") == std::string::npos);
  const std::string sse = KernelAssembly(kHlo, "x86-64-v2", 16);
  CHECK(sse.find("%xmm") != std::string::npos);
  CHECK(sse.find("%ymm") == std::string::npos);
}

}  // namespace
}  // namespace hlo::cpu
