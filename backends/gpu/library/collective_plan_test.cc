// Plans of collectives as text: which calls, of which parts of which arrays.
#include "backends/gpu/library/collective_plan.h"

#include <catch2/catch.hpp>

#include "lib/ir/module.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<Module> Parsed(const std::string& root, const std::string& parameters) {
  auto module = ParseModule("HloModule m, replica_count=4\n" + std::string(R"(
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
csum {
  a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT r = c64[] add(a, b)
}
largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
both {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] and(a, b)
}
square {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  p = f32[] multiply(a, b)
  ROOT r = f32[] add(p, b)
}
narrow {
  a = s16[] parameter(0)
  b = s16[] parameter(1)
  ROOT r = s16[] add(a, b)
}
)") + "ENTRY main {\n" + parameters +
                            "ROOT r = " + root + "\n}\n");
  REQUIRE(module.ok());
  return *std::move(module);
}

std::string PlanOf(const std::string& root, const std::string& parameters, int64_t members,
                   int64_t self) {
  const auto module = Parsed(root, parameters);
  const Instruction& collective = *module->entry()->root();
  const Decision decision = IsForNccl(collective);
  INFO(decision.reason());
  REQUIRE(static_cast<bool>(decision));
  const auto plan = PlanCollective(collective, members, self);
  return plan ? ToString(*plan) : "no plan\n";
}

std::string WhyNot(const std::string& root, const std::string& parameters) {
  return IsForNccl(*Parsed(root, parameters)->entry()->root()).reason();
}

constexpr char kX[] = "x = f32[4,6] parameter(0)\n";

TEST_CASE("several operands are reduced in one group", "[gpu][nccl]") {
  CHECK(PlanOf("(f32[4,6], f32[2]) all-reduce(x, y), replica_groups={}, to_apply=sum",
               std::string(kX) + "y = f32[2] parameter(1)\n", 4, 1) ==
        "all-reduce sum operand 0 + 0 to result 0 + 0, 24 f32\n"
        "all-reduce sum operand 1 + 0 to result 1 + 0, 2 f32\n");
  CHECK(PlanOf("c64[3] all-reduce(x), replica_groups={}, to_apply=csum",
               "x = c64[3] parameter(0)\n", 4,
               1) == "all-reduce sum operand 0 + 0 to result 0 + 0, 6 f32\n");
  CHECK(PlanOf("pred[3] all-reduce(x), replica_groups={}, to_apply=both",
               "x = pred[3] parameter(0)\n", 4,
               1) == "all-reduce min operand 0 + 0 to result 0 + 0, 3 u8\n");
}

TEST_CASE("a dimension that is not the first one is cut row by row", "[gpu][nccl]") {
  CHECK(PlanOf("f32[4,12] all-gather(x), replica_groups={}, dimensions={1}", kX, 2, 0) ==
        "all-gather operand 0 + 0 to result 0 + 0, 6 f32\n"
        "all-gather operand 0 + 24 to result 0 + 48, 6 f32\n"
        "all-gather operand 0 + 48 to result 0 + 96, 6 f32\n"
        "all-gather operand 0 + 72 to result 0 + 144, 6 f32\n");
  CHECK(PlanOf("f32[8,6] all-gather(x), replica_groups={}, dimensions={0}", kX, 2, 1) ==
        "all-gather operand 0 + 0 to result 0 + 0, 24 f32\n");
  CHECK(PlanOf("f32[2,6] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=sum", kX, 2,
               1) == "reduce-scatter sum operand 0 + 0 to result 0 + 0, 12 f32\n");
  CHECK(PlanOf("f32[2,3] reduce-scatter(x), replica_groups={}, dimensions={1}, to_apply=sum",
               "x = f32[2,6] parameter(0)\n", 2, 1) ==
        "reduce-scatter sum operand 0 + 0 to result 0 + 0, 3 f32\n"
        "reduce-scatter sum operand 0 + 24 to result 0 + 12, 3 f32\n");
}

TEST_CASE("what goes to others is sent, and what stays is copied", "[gpu][nccl]") {
  CHECK(PlanOf("f32[4,6] all-to-all(x), replica_groups={}, dimensions={0}", kX, 2, 1) ==
        "copy operand 0 + 48 to result 0 + 48, 48 u8\n"
        "send operand 0 + 0, 12 f32, peer 0\n"
        "receive to result 0 + 0, 12 f32, peer 0\n");
  CHECK(PlanOf("(s16[2], s16[2]) all-to-all(x, y), replica_groups={}",
               "x = s16[2] parameter(0)\ny = s16[2] parameter(1)\n", 2, 0) ==
        "copy operand 0 + 0 to result 0 + 0, 4 u8\n"
        "send operand 1 + 0, 4 u8, peer 1\n"
        "receive to result 1 + 0, 4 u8, peer 1\n");
  const std::string permute =
      "f32[4,6] collective-permute(x), source_target_pairs={{0,1},{1,2},{3,3},{3,9}}";
  CHECK(PlanOf(permute, kX, 4, 0) ==
        "zero to result 0 + 0, 96 u8\nsend operand 0 + 0, 24 f32, peer 1\n");
  CHECK(PlanOf(permute, kX, 4, 1) ==
        "receive to result 0 + 0, 24 f32, peer 0\nsend operand 0 + 0, 24 f32, peer 2\n");
  CHECK(PlanOf(permute, kX, 4, 3) == "copy operand 0 + 0 to result 0 + 0, 96 u8\n");
  CHECK(PlanOf("f32[4,6] collective-broadcast(x), replica_groups={{2,0}}", kX, 2, 1) ==
        "broadcast operand 0 + 0 to result 0 + 0, 24 f32, peer 0\n");
}

TEST_CASE("slices of rows go where their sender says", "[gpu][nccl]") {
  const auto module =
      Parsed("s32[8,2] ragged-all-to-all(x, o, b, s, t, n), replica_groups={}",
             "x = s32[6,2] parameter(0)\no = s32[8,2] parameter(1)\nb = s64[2] parameter(2)\n"
             "s = s64[2] parameter(3)\nt = s64[2] parameter(4)\nn = s64[2] parameter(5)\n");
  const Instruction& ragged = *module->entry()->root();
  REQUIRE(static_cast<bool>(IsForNccl(ragged)));
  std::vector<RaggedSlices> members = {{{0, 2}, {2, 1}, {0, 4}}, {{0, 3}, {0, 2}, {5, 0}}};
  const auto plan = PlanRagged(ragged, members, 1);
  REQUIRE(plan.ok());
  CHECK(ToString(*plan) ==
        "copy operand 1 + 0 to result 0 + 0, 64 u8\n"
        "copy operand 0 + 24 to result 0 + 0, 16 u8\n"
        "receive to result 0 + 32, 2 s32, peer 0\n");
  members[1].to[1] = 7;
  for (const int64_t self : {0, 1}) {
    const auto beyond = PlanRagged(ragged, members, self);
    REQUIRE_FALSE(beyond.ok());
    CHECK_THAT(std::string(beyond.status().message()),
               Catch::Matchers::Contains("sends rows 3 to 5 of 6 to row 7 of 8"));
  }
}

TEST_CASE("what NCCL cannot do is named", "[gpu][nccl]") {
  const std::string reduce = "f32[4,6] all-reduce(x), replica_groups={}, to_apply=";
  CHECK(WhyNot(reduce + "largest", kX) == "`largest` is no reduction of NCCL on `f32[]`");
  CHECK(WhyNot(reduce + "square", kX) == "`square` is no reduction of NCCL on `f32[]`");
  CHECK(WhyNot("s16[3] all-reduce(x), replica_groups={}, to_apply=narrow",
               "x = s16[3] parameter(0)\n") == "NCCL reduces no `s16[]`");
  CHECK(WhyNot("bf16[3] all-reduce(x), replica_groups={}, to_apply=sum",
               "x = bf16[3] parameter(0)\n") == "it reduces `bf16[3]` as `f32[]`");
  CHECK(WhyNot("f32[4,6] negate(x)", kX) == "`negate` is no call of NCCL");
  // Of one row each.
  CHECK(PlanOf("f32[5000,4] all-gather(x), replica_groups={}, dimensions={1}",
               "x = f32[5000,2] parameter(0)\n", 2, 0) == "no plan\n");
  CHECK(PlanOf("f32[4,12] all-gather(x), replica_groups={}, dimensions={1}", kX, 3, 0) ==
        "no plan\n");
}

}  // namespace
}  // namespace hlo::gpu
