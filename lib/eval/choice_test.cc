#include "lib/eval/choice.h"

#include "lib/eval/eval_test_util.h"

namespace hlo {
namespace {

std::optional<TieOrder> OrderOf(std::string_view body, Nan nan = Nan::kSome) {
  const auto module = eval_test::Parse(eval_test::Entry(body));
  return TieOrderOf(*module->entry(), nan);
}

// Arg-max of (value, position); `direction` decides, and `ties` says what stands for the position.
std::string ArgMax(std::string_view direction, bool nan, bool ties) {
  std::string text = "a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n";
  text += " j = s32[] parameter(3)\n";
  text += fmt::format(" better = pred[] compare(a, b), direction={}\n", direction);
  text += " is_nan = pred[] compare(a, a), direction=NE\n";
  text += fmt::format(" p = pred[] or(better, {})\n", nan ? "is_nan" : "better");
  text += " same = pred[] compare(a, b), direction=EQ\n";
  text += " before = pred[] compare(i, j), direction=LT\n both = pred[] and(same, before)\n";
  text += fmt::format(" q = pred[] or(p, {})\n", ties ? "both" : "p");
  text += " x = f32[] select(p, a, b)\n k = s32[] select(q, i, j)\n";
  return text + " ROOT r = (f32[], s32[]) tuple(x, k)";
}

TEST_CASE("what regions that choose do among equals", "[eval][choice]") {
  CHECK(OrderOf("p = f32[] parameter(0)\n q = f32[] parameter(1)\n"
                "ROOT m = f32[] maximum(p, q)") == TieOrder::kAny);
  CHECK(OrderOf("p = s32[] parameter(0)\n q = s32[] parameter(1)\n"
                "c = pred[] compare(p, q), direction=LT\n ROOT m = s32[] select(c, p, q)") ==
        TieOrder::kAny);
  CHECK(OrderOf(ArgMax("GT", true, true)) == TieOrder::kFirst);
  CHECK(OrderOf(ArgMax("GE", true, false)) == TieOrder::kFirst);
  // The last one of equals, but the first NaN.
  CHECK(OrderOf(ArgMax("GT", true, false)) == std::nullopt);
  // NaN is equal to nothing: it hides what came before it, and is hidden by what comes after.
  CHECK(OrderOf(ArgMax("GT", false, false)) == std::nullopt);
  CHECK(OrderOf(ArgMax("GE", false, true)) == std::nullopt);
  CHECK(OrderOf(ArgMax("GT", false, false), Nan::kNone) == TieOrder::kLast);
  CHECK(OrderOf(ArgMax("GE", false, false), Nan::kNone) == TieOrder::kFirst);
}

TEST_CASE("integers choose the first or the last one", "[eval][choice]") {
  const auto of = [](std::string_view direction) {
    return OrderOf(
        fmt::format("a = s32[] parameter(0)\n i = s32[] parameter(1)\n b = s32[] parameter(2)\n"
                    "j = s32[] parameter(3)\n p = pred[] compare(a, b), direction={}\n"
                    "x = s32[] select(p, a, b)\n k = s32[] select(p, i, j)\n"
                    "ROOT r = (s32[], s32[]) tuple(x, k)",
                    direction));
  };
  CHECK(of("GE") == TieOrder::kFirst);
  CHECK(of("GT") == TieOrder::kLast);
  CHECK(of("LE") == TieOrder::kFirst);
  CHECK(of("EQ") == std::nullopt);  // the last one, but the first of equals
}

TEST_CASE("arithmetic is no choice", "[eval][choice]") {
  CHECK(OrderOf("p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT m = s32[] add(p, q)") ==
        std::nullopt);
}

}  // namespace
}  // namespace hlo
