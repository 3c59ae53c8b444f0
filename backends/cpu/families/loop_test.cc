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
}})", n);
    CAPTURE(n);
    CHECK(RunKernelCase({hlo}) == "");
  }
}

}  // namespace
}  // namespace hlo::cpu
