#include "lib/match/pattern.h"

#include <catch2/catch.hpp>

#include "lib/ir/builder.h"

namespace hlo {
namespace {

// What must not compile: a pattern with a number of operands the opcode cannot have, any order
// where the opcode does not commute, an index where there is none.
template <class T>
concept NegateTakesTwo = requires(T p) {
  m::Negate(p, p);
};
template <class T>
concept SubtractAnyOrder = requires(T p) {
  m::SubtractAnyOrder(p, p);
};
template <class T>
concept AddAnyOrder = requires(T p) {
  m::AddAnyOrder(p, p);
};
template <class T>
concept HasIndex = requires(T p) {
  p.WithIndex(0);
};
using Any = decltype(m::Any());
static_assert(!NegateTakesTwo<Any>);
static_assert(!SubtractAnyOrder<Any>);
static_assert(AddAnyOrder<Any>);
static_assert(!HasIndex<Any>);
static_assert(!HasIndex<decltype(m::Negate())>);
static_assert(HasIndex<decltype(m::GetTupleElement())>);

struct Fixture {
  Module module{"m"};
  Builder b{module.AddEntry("main")};
  Instruction* x = b.Parameter(0, Shape::Array(ElementType::kF32, {4}));
  Instruction* y = b.Parameter(1, Shape::Array(ElementType::kF32, {4}));
};

TEST_CASE("an opcode pattern looks at the opcode and its operands in order", "[match][opcode]") {
  Fixture f;
  Instruction* difference = f.b.Subtract(f.x, f.b.Negate(f.y));
  Instruction *a = nullptr, *c = nullptr;
  CHECK(Match(difference, m::Subtract()));
  CHECK(Match(difference, m::Subtract(m::Any(&a), m::Negate(m::Any(&c)))));
  CHECK(a == f.x);
  CHECK(c == f.y);
  CHECK_FALSE(Match(difference, m::Subtract(m::Negate(), m::Any())));
  CHECK_FALSE(Match(difference, m::Add()));
}

TEST_CASE("any order tries both orders and captures the one that matched", "[match][commutative]") {
  Fixture f;
  Instruction* zero = f.b.ConstantLike(f.x, 0);
  Instruction* left = f.b.Add(zero, f.x);
  Instruction* right = f.b.Add(f.x, zero);
  for (Instruction* sum : {left, right}) {
    Instruction* other = nullptr;
    CHECK(Match(sum, m::AddAnyOrder(m::Any(&other), m::Zero())));
    CHECK(other == f.x);
  }
  CHECK_FALSE(Match(left, m::Add(m::Any(), m::Zero())));
}

TEST_CASE("splats see through broadcasts and tell -0 from 0", "[match][constant]") {
  Fixture f;
  CHECK(Match(f.b.ConstantLike(f.x, 0), m::Zero()));
  CHECK_FALSE(Match(f.b.ConstantLike(f.x, -0.0), m::Zero()));
  CHECK(Match(f.b.ConstantLike(f.x, 1), m::One()));
  CHECK(Match(f.b.ConstantLike(f.x, 2.5), m::Splat(2.5)));
  CHECK_FALSE(Match(f.x, m::Splat(2.5)));
  CHECK_FALSE(
      Match(f.b.Constant(Literal::Elided(Shape::Array(ElementType::kF32, {4}))), m::Zero()));
}

TEST_CASE("all ones means all bits, for integers and pred", "[match][constant]") {
  Fixture f;
  CHECK(Match(f.b.ScalarConstant(ElementType::kS8, -1), m::AllOnes()));
  CHECK(Match(f.b.ScalarConstant(ElementType::kU4, 15), m::AllOnes()));
  CHECK(Match(f.b.ScalarConstant(ElementType::kPred, 1), m::AllOnes()));
  CHECK_FALSE(Match(f.b.ScalarConstant(ElementType::kS8, 1), m::AllOnes()));
  CHECK_FALSE(Match(f.b.ScalarConstant(ElementType::kF32, -1), m::AllOnes()));
}

TEST_CASE("constant scalars have one element", "[match][constant]") {
  Fixture f;
  Instruction* c = nullptr;
  Instruction* three = f.b.ScalarConstant(ElementType::kF32, 3);
  CHECK(Match(three, m::ConstantScalar(&c)));
  CHECK(c == three);
  CHECK(Match(three, m::ConstantScalar(3)));
  CHECK_FALSE(Match(three, m::ConstantScalar(4)));
  CHECK_FALSE(Match(f.b.ConstantLike(f.x, 3), m::ConstantScalar(3)));
}

TEST_CASE("conditions: users, shape, type, rank, index, predicate", "[match][conditions]") {
  Fixture f;
  Instruction* negated = f.b.Negate(f.x);
  Instruction* once = f.b.Add(negated, negated);
  CHECK(Match(once, m::Add(m::Negate().OneUser(), m::Any())));
  f.b.Sin(negated);
  CHECK_FALSE(Match(once, m::Add(m::Negate().OneUser(), m::Any())));
  CHECK(Match(f.x, m::Any().WithShape(Shape::Array(ElementType::kF32, {4}))));
  CHECK_FALSE(Match(f.x, m::Any().WithShape(Shape::Array(ElementType::kF32, {5}))));
  CHECK(Match(f.x, m::Parameter().WithElementType(ElementType::kF32).WithRank(1)));
  CHECK_FALSE(Match(f.x, m::Any().WithRank(2)));
  CHECK(Match(f.y, m::Parameter().WithIndex(1)));
  Instruction* element = f.b.GetTupleElement(f.b.Tuple({f.x, f.y}), 1);
  CHECK(Match(element, m::GetTupleElement(m::Tuple()).WithIndex(1)));
  CHECK_FALSE(Match(element, m::GetTupleElement(m::Tuple()).WithIndex(0)));
  CHECK_FALSE(
      Match(f.x, m::Any().Where([](const Instruction& node) { return node.name() == "other"; })));
}

TEST_CASE("a repeated operand is named by the capture on its left", "[match][same]") {
  Fixture f;
  Instruction* x = nullptr;
  CHECK(Match(f.b.Subtract(f.x, f.x), m::Subtract(m::Any(&x), m::Same(&x))));
  CHECK_FALSE(Match(f.b.Subtract(f.x, f.y), m::Subtract(m::Any(&x), m::Same(&x))));
  CHECK(Match(f.b.Sin(f.x), m::Either(m::Cos(), m::Sin())));
}

}  // namespace
}  // namespace hlo
