// Random programs: the same for the same seed, valid, of many kinds. And what noise allows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "lib/eval/evaluator.h"
#include "lib/ir/verifier.h"
#include "parser/parser.h"
#include "tools/fuzz/platform_config.h"
#include "tools/fuzz/programs/census.h"
#include "tools/fuzz/programs/computed_types.h"
#include "tools/fuzz/programs/random_program.h"
#include "tools/fuzz/sensitivity.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

TEST_CASE("a seed has one program", "[fuzz][programs]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FuzzRandom first(seed), second(seed);
    CHECK(RandomProgram(first) == RandomProgram(second));
  }
}

TEST_CASE("programs are valid", "[fuzz][programs]") {
  FuzzRandom random(3);
  int empty = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string text = RandomProgram(random);
    empty += text.empty() ? 1 : 0;
    if (text.empty()) continue;
    const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
    REQUIRE(module.ok());
    CHECK(Verify(**module).ok());
  }
  CHECK(empty < 30);
}

TEST_CASE("programs have every opcode and every element type", "[fuzz][programs]") {
  FuzzRandom random(4);
  Census census;
  for (int i = 0; i < 6000; ++i) census.Add(RandomProgram(random));
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    INFO(Text(opcode));
    // What no program has is a hole for all of its types, unless there is a reason for each.
    CHECK((census.Has(opcode) || census.Holes(opcode).empty()));
  }
  for (const Opcode opcode : {Opcode::kParameter, Opcode::kAdd, Opcode::kReshape, Opcode::kReduce})
    CHECK(census.Holes(opcode).empty());
}

TEST_CASE("elementwise opcodes of a type are what the interpreter computes", "[fuzz][programs]") {
  const auto has = [](const std::vector<Opcode>& all, Opcode opcode) {
    return std::find(all.begin(), all.end(), opcode) != all.end();
  };
  CHECK(has(UnaryOpcodes(ElementType::kF32), Opcode::kErf));
  CHECK(has(BinaryOpcodes(ElementType::kU4), Opcode::kMulHi));
  CHECK(has(BinaryOpcodes(ElementType::kC64), Opcode::kPower));
  CHECK_FALSE(has(UnaryOpcodes(ElementType::kPred), Opcode::kNegate));
  CHECK_FALSE(has(BinaryOpcodes(ElementType::kF32), Opcode::kShiftLeft));
}

TEST_CASE("a configuration survives in the text", "[fuzz][config]") {
  const std::string pinned = WithConfig("HloModule m\n");
  CHECK(ConfigFor(pinned).ToString() == ConfigFor("HloModule m\n").ToString());
  CHECK(WithConfig(pinned) == pinned);
  CHECK(ConfigFor("// CONFIG: platform=gpu-sim threads=2 inputs=5 indices=any\n").ToString() ==
        "platform=gpu-sim threads=2 inputs=5 indices=any");
  CHECK(ConfigFor("// CONFIG: platform=cpu threads=2147483647 inputs=1\n").ToString() ==
        "platform=cpu threads=64 inputs=1");
}

// A sum of which only the last bits are the platform's business, and what is made of it.
constexpr std::string_view kSum = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64] parameter(0)
  zero = f32[] constant(0)
  sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  small = f32[] constant(1e-7)
  ROOT moved = f32[] add(sum, small)
})";

std::string Difference(std::string_view text, double by, bool with_noise) {
  const std::unique_ptr<Module> module = *ParseModule(std::string(text));
  const std::vector<Literal> arguments = RandomArguments(*module, 1);
  const Literal expected = *Evaluator().Run(*module, arguments);
  Literal actual = expected;
  actual.SetDouble(0, expected.GetDouble(0) + by);
  const Noise noise = with_noise ? NoisyRuns(*module, arguments, {}) : Noise();
  return DifferenceBeyondNoise(actual, expected, noise);
}

TEST_CASE("noise allows what rounding may do and no more", "[fuzz][sensitivity]") {
  CHECK(Difference(kSum, 0, false).empty());
  CHECK_FALSE(Difference(kSum, 1e-5, false).empty());
  CHECK(Difference(kSum, 1e-5, true).empty());
  CHECK_FALSE(Difference(kSum, 1e-2, true).empty());
  CHECK_FALSE(Difference(kSum, std::numeric_limits<double>::infinity(), true).empty());
  constexpr std::string_view kExact =
      "ENTRY e { x = f32[] parameter(0)  ROOT y = f32[] exponential(x) }";
  CHECK_FALSE(Difference(kExact, 1e-5, true).empty());
}

// As f32 it is a denormal.
TEST_CASE("the smallest scale may be read as zero", "[fuzz][sensitivity]") {
  const std::unique_ptr<Module> module = *ParseModule(R"(ENTRY e {
  scale = f8e8m0fnu[] parameter(0)
  eight = f8e8m0fnu[] constant(8)
  product = f8e8m0fnu[] multiply(scale, eight)
  ROOT wide = f32[] convert(product)
})");
  const auto number = [](ElementType type, double value) {
    Literal literal(Shape::Array(type, {}));
    literal.SetDouble(0, value);
    return literal;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto difference = [&](double scale, double actual, double expected) {
    const Noise noise = NoisyRuns(*module, {number(ElementType::kF8E8M0FNU, scale)},
                                  {.denormals = Denormals::kFlush});
    return DifferenceBeyondNoise(number(ElementType::kF32, actual),
                                 number(ElementType::kF32, expected), noise);
  };
  CHECK(difference(0x1p-127, 0x1p-124, nan).empty());
  CHECK(difference(0x1p-127, nan, 0x1p-124).empty());
  CHECK_FALSE(difference(0x1p-126, nan, 0x1p-123).empty());
}

}  // namespace
}  // namespace hlo
