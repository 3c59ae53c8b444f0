#include "passes/rewrite.h"

#include <catch2/catch.hpp>

#include "lib/ir/verifier.h"
#include "lib/match/pattern.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

// --x  =>  x
Instruction* DoubleNegate(Instruction* negate, Rewriter&) {
  Instruction* x;
  return Match(negate, m::Negate(m::Negate(m::Any(&x)))) ? x : nullptr;
}

// x - y  =>  x + -y
Instruction* SubtractToAdd(Instruction* subtract, Rewriter& rewriter) {
  return rewriter.Add(subtract->operand(0), rewriter.Negate(subtract->operand(1)));
}

// x + y  =>  y + x: for ever
Instruction* SwapForever(Instruction* add, Rewriter& rewriter) {
  return rewriter.Add(add->operand(1), add->operand(0));
}

// A replacement of another shape.
Instruction* WrongShape(Instruction* sine, Rewriter& rewriter) {
  return rewriter.Reshape(sine->operand(0), {2, 2});
}

constexpr Rule kRules[] = {
    {"double-negate", Opcode::kNegate, kExact, DoubleNegate},
    {"subtract-to-add", Opcode::kSubtract, kReassociate, SubtractToAdd},
};
constexpr Rule kEndless[] = {{"swap-forever", Opcode::kAdd, kExact, SwapForever}};
constexpr Rule kWrong[] = {{"wrong-shape", Opcode::kSin, kExact, WrongShape}};

struct Fixture {
  Module module{"m"};
  Computation* main = module.AddEntry("main");
  Builder b{main};
  Instruction* x = b.Parameter(0, Shape::Array(ElementType::kF32, {4}));
  Instruction* y = b.Parameter(1, Shape::Array(ElementType::kF32, {4}));
  PassContext context;
};

TEST_CASE("what a rewrite builds is looked at again, and its dead operands go",
          "[passes][rewrite]") {
  Fixture f;
  // x - -y: the subtraction becomes x + --y, the negations then cancel.
  Instruction* subtract = f.b.Subtract(f.x, f.b.Negate(f.y));
  f.main->set_root(subtract);

  const absl::StatusOr<bool> changed =
      ApplyRules(*f.main, RuleSet(kRules, kReassociate), f.context);

  REQUIRE(changed.ok());
  CHECK(*changed);
  Instruction* root = f.main->root();
  CHECK(Match(root, m::Add(m::Parameter().WithIndex(0), m::Parameter().WithIndex(1))));
  CHECK(f.main->instruction_count() == 3);
}

TEST_CASE("rules above the allowed safety are off", "[passes][rewrite]") {
  Fixture f;
  f.main->set_root(f.b.Subtract(f.x, f.y));
  const absl::StatusOr<bool> changed = ApplyRules(*f.main, RuleSet(kRules, kExact), f.context);
  REQUIRE(changed.ok());
  CHECK_FALSE(*changed);
}

TEST_CASE("a replacement inherits metadata and sharding", "[passes][rewrite]") {
  Fixture f;
  Instruction* subtract = f.b.Subtract(f.x, f.y);
  OpMetadata metadata;
  metadata.op_name = "difference";
  subtract->set_metadata(metadata);
  subtract->mutable_extras().frontend_attributes["key"] = "value";
  f.main->set_root(subtract);
  REQUIRE(ApplyRules(*f.main, RuleSet(kRules, kReassociate), f.context).ok());
  CHECK(f.main->root()->metadata().op_name == "difference");
  CHECK(f.main->root()->extras()->frontend_attributes.at("key") == "value");
}

TEST_CASE("hits are counted per rule; a bisect limit stops them", "[passes][rewrite]") {
  Fixture f;
  f.context.set_pass("test");
  f.main->set_root(f.b.Negate(f.b.Negate(f.b.Negate(f.b.Negate(f.x)))));
  int budget = 1;
  f.context.set_may_rewrite([&budget] { return budget-- > 0; });
  REQUIRE(ApplyRules(*f.main, RuleSet(kRules), f.context).ok());
  CHECK(f.context.counts().at({"test", "double-negate"}) == 1);
  CHECK(Match(f.main->root(), m::Negate(m::Negate(m::Parameter()))));
}

TEST_CASE("rules that do not come to rest are named", "[passes][rewrite]") {
  Fixture f;
  f.main->set_root(f.b.Add(f.x, f.y));
  const absl::StatusOr<bool> changed = ApplyRules(*f.main, RuleSet(kEndless), f.context);
  REQUIRE_FALSE(changed.ok());
  CHECK(std::string(ToStd(changed.status().message())).find("rule `swap-forever` fired") !=
        std::string::npos);
}

TEST_CASE("a replacement of another shape is an internal error", "[passes][rewrite]") {
  Fixture f;
  f.main->set_root(f.b.Sin(f.x));
  const absl::StatusOr<bool> changed = ApplyRules(*f.main, RuleSet(kWrong), f.context);
  CHECK(changed.status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("what nobody reads is not rewritten", "[passes][rewrite]") {
  Fixture f;
  f.b.Negate(f.b.Negate(f.x));
  f.main->set_root(f.y);
  const absl::StatusOr<bool> changed = ApplyRules(*f.main, RuleSet(kRules), f.context);
  REQUIRE(changed.ok());
  CHECK_FALSE(*changed);
}

}  // namespace
}  // namespace hlo
