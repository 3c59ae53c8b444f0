#include "lib/ops/ops.h"

#include <catch2/catch.hpp>

#include "lib/ops/opcode_set.h"
#include "lib/ops/shape_rules.h"

namespace hlo {
namespace {

TEST_CASE("the table has every opcode once, under its text", "[ops][table]") {
  CHECK(AllOpInfos().size() == kOpcodeCount);
  for (size_t i = 0; i < AllOpInfos().size(); ++i) {
    const OpInfo& info = AllOpInfos()[i];
    CAPTURE(info.text);
    CHECK(OpcodeFromText(info.text) == static_cast<Opcode>(i));
    CHECK(info.shape_rule != nullptr);
    CHECK(!info.summary.empty());
    const AttrsPtr attrs = info.default_attrs();
    CHECK((!attrs || attrs.info() == &info.attrs()));
  }
  CHECK(OpcodeFromText("optimization-barrier") == std::nullopt);
  CHECK(OpcodeFromText("") == std::nullopt);
  CHECK(Text(Opcode::kExp) == "exponential");
}

TEST_CASE("an opcode that does not exist suggests a similar one", "[ops][table]") {
  CHECK(SuggestOpcode("cosin") == "; did you mean `cosine`?");
  CHECK(SuggestOpcode("quux").empty());
}

TEST_CASE("operands have names", "[ops][table]") {
  CHECK(OperandName(Opcode::kAdd, 1) == "rhs");
  CHECK(OperandName(Opcode::kConcatenate, 2) == "operands[2]");
  CHECK(OperandName(Opcode::kDynamicUpdateSlice, 1) == "update");
  CHECK(OperandName(Opcode::kDynamicUpdateSlice, 3) == "start_indices[1]");
}

TEST_CASE("traits are those of the row", "[ops][table]") {
  CHECK(IsElementwise(Opcode::kAdd));
  CHECK(IsCommutative(Opcode::kAdd));
  CHECK_FALSE(IsCommutative(Opcode::kSubtract));
  CHECK(HasTrait(Opcode::kAllReduceStart, kAsyncStart));
  CHECK_FALSE(HasTrait(Opcode::kRngBitGenerator, kSideEffect));
}

TEST_CASE("a set of opcodes holds what was put into it", "[ops][opcode-set]") {
  const auto at = [](int i) { return static_cast<Opcode>(i); };
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpcodeSet one = {at(i)};
    for (int j = 0; j < kOpcodeCount; ++j) {
      CHECK(one.Has(at(j)) == (i == j));
      CHECK(one.Intersects({at(j)}) == (i == j));
    }
  }
  OpcodeSet set = {Opcode::kDot};
  CHECK_FALSE(set.Intersects({Opcode::kAdd, Opcode::kWhile}));
  set.Insert(Opcode::kWhile);
  CHECK(set.Intersects({Opcode::kAdd, Opcode::kWhile}));
  CHECK_FALSE(set.Intersects({}));
}

TEST_CASE("operand counts are checked against the table", "[ops][table]") {
  CHECK(CheckOperandCount(Opcode::kAdd, 2).ok());
  CHECK(CheckOperandCount(Opcode::kTuple, 0).ok());
  CHECK(CheckOperandCount(Opcode::kAdd, 3).message() ==
        "`add` expects 2 operands (lhs, rhs), found 3");
  CHECK(CheckOperandCount(Opcode::kNegate, 0).message() ==
        "`negate` expects 1 operand (operand), found 0");
  CHECK(CheckOperandCount(Opcode::kIota, 1).message() == "`iota` expects 0 operands, found 1");
  CHECK(CheckOperandCount(Opcode::kConditional, 0).message() ==
        "`conditional` expects at least 1 operand (selector, branch_operands), found 0");
}

}  // namespace
}  // namespace hlo
