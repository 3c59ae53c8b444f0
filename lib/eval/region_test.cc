#include "lib/eval/region.h"

#include "lib/eval/eval_test_util.h"

namespace hlo {
namespace {

std::unique_ptr<RegionProgram> CompileEntry(const Module& module) {
  auto program = RegionProgram::Compile(*module.entry());
  REQUIRE(program.ok());
  return *std::move(program);
}

TEST_CASE("plain binary regions are recognised", "[eval][region]") {
  const auto add = eval_test::Parse(eval_test::Entry(
      "p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] add(q, p)"));
  CHECK(CompileEntry(*add)->simple_binary() == Opcode::kAdd);
  const auto sub = eval_test::Parse(eval_test::Entry(
      "p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] subtract(q, p)"));
  CHECK(CompileEntry(*sub)->simple_binary() == std::nullopt);
  const auto second =
      eval_test::Parse(eval_test::Entry("p = f32[] parameter(0)\n  ROOT q = f32[] parameter(1)"));
  CHECK(CompileEntry(*second)->forwarded_parameter() == 1);
}

TEST_CASE("arrays and loops make no program", "[eval][region]") {
  const auto array =
      eval_test::Parse(eval_test::Entry("p = f32[2] parameter(0)\n  ROOT s = f32[2] negate(p)"));
  CHECK(CompileEntry(*array) == nullptr);
}

TEST_CASE("results may lie over parameters, also crossed", "[eval][region]") {
  const auto swap = eval_test::Parse(eval_test::Entry(
      "p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  ROOT t = (s32[], s32[]) tuple(q, p)"));
  const auto program = CompileEntry(*swap);
  int32_t x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
  uint8_t* in_out[] = {reinterpret_cast<uint8_t*>(x), reinterpret_cast<uint8_t*>(y)};
  const uint8_t* parameters[] = {in_out[0], in_out[1]};
  program->Run(parameters, in_out, 3);
  CHECK(x[2] == 30);
  CHECK(y[0] == 1);
}

}  // namespace
}  // namespace hlo
