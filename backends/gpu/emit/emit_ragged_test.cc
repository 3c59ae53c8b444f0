// ragged-dot and stochastic-convert on the simulated GPU.
#include <catch2/catch.hpp>

#include "backends/gpu/run_case.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

TEST_CASE("ragged dots, whichever dimension is ragged", "[gpu][dot]") {
  struct Case {
    const char *lhs, *rhs, *sizes, *result, *numbers;
  };
  for (const Case& c :
       {// Rows: groups of random sizes, some of which reach beyond the end.
        Case{"23,5", "4,5,7", "4", "23,7",
             "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
             "rhs_group_dims={0}"},
        {"3,23,5", "3,4,5,7", "3,4", "3,23,7",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}"},
        // The depth.
        {"6,23", "23,7", "4", "4,6,7",
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}"},
        // Batches.
        {"11,6,5", "11,5,7", "2", "11,6,7",
         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}, lhs_ragged_dims={0}"}}) {
    for (const char* type : {"f32", "bf16", "s32"}) {
      CAPTURE(c.lhs, c.numbers, type);
      const std::string text = fmt::format(
          "HloModule m\nENTRY main {{\nx = {0}[{1}] parameter(0)\ny = {0}[{2}] parameter(1)\n"
          "g = u32[{3}] parameter(2)\nROOT r = {0}[{4}] ragged-dot(x, y, g), {5}\n}}",
          type, c.lhs, c.rhs, c.sizes, c.result, c.numbers);
      GpuCase test{text};
      test.tolerance = type[0] == 'b' ? 2e-2 : type[0] == 'f' ? 1e-5 : 0;
      test.largest_integer = 9;
      CHECK(RunGpuCase(test) == "");
    }
  }
}

TEST_CASE("stochastic conversions round as the random numbers say", "[gpu][loop]") {
  struct Case {
    const char *from, *random, *to;
  };
  for (const Case& c : {Case{"f32", "u32", "s32"},
                        {"f32", "u32", "s8"},
                        {"f64", "u64", "s64"},
                        {"f64", "u64", "s16"},
                        {"bf16", "u16", "s8"},
                        {"f16", "u16", "s32"}}) {
    CAPTURE(c.from, c.to);
    // Numbers up to 2^9, so that the narrow types overflow, and specials.
    const std::string text = fmt::format(
        "HloModule m\nENTRY main {{\nx = {0}[70] parameter(0)\nbits = {1}[70] parameter(1)\n"
        "big = {0}[] constant(100)\nbigs = {0}[70] broadcast(big), dimensions={{}}\n"
        "y = {0}[70] multiply(x, bigs)\nspecial = {0}[4] constant({{nan, inf, -inf, -0.5}})\n"
        "few = {1}[4] constant({{0, 1, 2, 3}})\na = {2}[70] stochastic-convert(y, bits)\n"
        "b = {2}[4] stochastic-convert(special, few)\n"
        "ROOT r = ({2}[70], {2}[4]) tuple(a, b)\n}}",
        c.from, c.random, c.to);
    GpuCase test{text};
    // All bits of the random numbers.
    test.largest_integer = c.random[1] == '1' ? 65535 : int64_t{4000000000};
    CHECK(RunGpuCase(test) == "");
  }
}

}  // namespace
}  // namespace hlo::gpu
