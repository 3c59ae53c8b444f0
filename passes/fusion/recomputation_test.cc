#include "passes/fusion/recomputation.h"

#include <catch2/catch.hpp>

#include "parser/parse_test_util.h"

namespace hlo {
namespace {

struct RecomputationCase {
  std::string_view body;  // of the fusion of x: f32[8,4], its last line the root
  int64_t kept;           // with keeps_values
  int64_t not_kept;
};

void Check(const RecomputationCase& c) {
  INFO(c.body);
  const std::string text = fmt::format(
      "HloModule m\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(a, b)\n}}\nf {{\n  x = f32[8,4] parameter(0)\n  z = f32[] constant(0)\n"
      "{}}}\nENTRY e {{\n  x = f32[8,4] parameter(0)\n  ROOT r = {} fusion(x), kind=kInput, "
      "calls=f\n}}\n",
      c.body, "f32[8,4]");
  std::unique_ptr<Module> module = ParsedModule(text);
  const Instruction& fusion = *module->entry()->root();
  CHECK(MostRecomputed(fusion, /*keeps_values=*/true).second == c.kept);
  CHECK(MostRecomputed(fusion, /*keeps_values=*/false).second == c.not_kept);
}

constexpr std::string_view kRows = "  s = f32[8] reduce(x, z), dimensions={1}, to_apply=sum\n";
constexpr std::string_view kColumns = "  s = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n";

std::string After(std::string_view reduce, std::string_view rest) {
  return std::string(reduce) + std::string(rest);
}

TEST_CASE("rows are computed once where they are kept", "[passes][fusion]") {
  Check({"  ROOT r = f32[8,4] negate(x)\n", 0, 0});
  Check({After(kRows, "  ROOT r = f32[8,4] broadcast(s), dimensions={0}\n"), 1, 4});
  Check({After(kColumns, "  ROOT r = f32[8,4] broadcast(s), dimensions={1}\n"), 8, 8});
  Check(
      {"  s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum\n"
       "  ROOT r = f32[8,4] broadcast(s), dimensions={}\n",
       1, 32});
}

TEST_CASE("rows in the order of another loop are computed again", "[passes][fusion]") {
  constexpr std::string_view kSquare =
      "  y = f32[4,8] reshape(x)\n"
      "  s = f32[4] reduce(y, z), dimensions={1}, to_apply=sum\n";
  // Elements 8 * i to 8 * i + 7 of y are two rows of x.
  Check({After(kSquare,
               "  b = f32[4,8] broadcast(s), dimensions={0}\n"
               "  ROOT r = f32[8,4] reshape(b)\n"),
         1, 8});
  Check({After(kSquare, "  ROOT r = f32[8,4] broadcast(s), dimensions={1}\n"), 8, 8});
  // Which of two halves: a part of the index of the row.
  Check(
      {"  y = f32[2,16] reshape(x)\n  s = f32[2] reduce(y, z), dimensions={1}, to_apply=sum\n"
       "  b = f32[2,4,4] broadcast(s), dimensions={0}\n  ROOT r = f32[8,4] reshape(b)\n",
       1, 16});
  Check(
      {"  y = f32[4,2,4] reshape(x)\n  s = f32[2] reduce(y, z), dimensions={0,2}, to_apply=sum\n"
       "  b = f32[4,2,4] broadcast(s), dimensions={1}\n  ROOT r = f32[8,4] reshape(b)\n",
       4, 16});
}

TEST_CASE("reductions inside of reductions", "[passes][fusion]") {
  // Each row of squares needs its mean.
  Check({After(kRows,
               "  b = f32[8,4] broadcast(s), dimensions={0}\n  d = f32[8,4] subtract(x, b)\n"
               "  v = f32[8] reduce(d, z), dimensions={1}, to_apply=sum\n"
               "  ROOT r = f32[8,4] broadcast(v), dimensions={0}\n"),
         1, 16});
  // The sums of all rows for each column of it.
  Check({After(kRows,
               "  b = f32[8,4] broadcast(s), dimensions={0}\n  d = f32[8,4] subtract(x, b)\n"
               "  v = f32[4] reduce(d, z), dimensions={0}, to_apply=sum\n"
               "  w = f32[4,8] broadcast(v), dimensions={0}\n"
               "  ROOT r = f32[8,4] transpose(w), dimensions={1,0}\n"),
         32, 32});
}

}  // namespace
}  // namespace hlo
