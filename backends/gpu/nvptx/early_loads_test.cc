#include "backends/gpu/nvptx/early_loads.h"

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

namespace hlo::gpu {
namespace {

// The opcodes of a block of `body` after the move, in order, of those that a test asks about.
std::string OrderAfter(std::string_view body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::string text = fmt::format(R"(
declare void @llvm.nvvm.barrier0()
declare float @llvm.sqrt.f32(float)
define void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %i, i32 %n, float %a) {{
{}
  ret void
}})",
                                       body);
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE(module != nullptr);
  MoveLoadsEarly(*module);
  REQUIRE_FALSE(llvm::verifyModule(*module));
  std::string order;
  for (const llvm::Instruction& instruction : module->getFunction("k")->getEntryBlock()) {
    if (instruction.isTerminator()) continue;
    if (!order.empty()) order += ' ';
    order += instruction.getOpcodeName();
  }
  return order;
}

TEST_CASE("A load and its address move before a division", "[early_loads]") {
  CHECK(OrderAfter(R"(
  %d = fdiv float 2.0, %a
  %j = add i32 %i, 1
  %p = getelementptr float, ptr addrspace(1) %x, i32 %j
  %l = load float, ptr addrspace(1) %p)") == "add getelementptr load fdiv");
}

TEST_CASE("Roots, calls and divisions by what is not known are slow, too", "[early_loads]") {
  CHECK(OrderAfter(R"(
  %d = call float @llvm.sqrt.f32(float %a)
  %l = load float, ptr addrspace(1) %x)") == "load call");
  CHECK(OrderAfter(R"(
  %d = udiv i32 %i, %n
  %l = load float, ptr addrspace(1) %x)") == "load udiv");
}

TEST_CASE("Nothing moves where no operation is slow", "[early_loads]") {
  CHECK(OrderAfter(R"(
  %d = udiv i32 %i, 7
  %s = fmul float %a, %a
  %l = load float, ptr addrspace(1) %x)") == "udiv fmul load");
}

TEST_CASE("A load stays after what its address needs", "[early_loads]") {
  CHECK(OrderAfter(R"(
  %d = fdiv float 2.0, %a
  %j = fptosi float %d to i32
  %p = getelementptr float, ptr addrspace(1) %x, i32 %j
  %l = load float, ptr addrspace(1) %p
  %m = load float, ptr addrspace(1) %y)") == "load fdiv fptosi getelementptr load");
}

TEST_CASE("No load moves over a store or a barrier", "[early_loads]") {
  CHECK(OrderAfter(R"(
  %d = fdiv float 2.0, %a
  store float %d, ptr addrspace(1) %y
  %l = load float, ptr addrspace(1) %x)") == "fdiv store load");
  CHECK(OrderAfter(R"(
  %d = fdiv float 2.0, %a
  call void @llvm.nvvm.barrier0()
  %l = load float, ptr addrspace(1) %x)") == "fdiv call load");
  CHECK(OrderAfter(R"(
  %d = fdiv float 2.0, %a
  %l = load volatile float, ptr addrspace(1) %x)") == "fdiv load");
}

TEST_CASE("Loads move while registers hold them", "[early_loads]") {
  std::string body = "  %d = fdiv float 2.0, %a\n";
  std::string expected;
  for (int i = 0; i < 9; ++i) {
    body += fmt::format("  %l{} = load <4 x float>, ptr addrspace(1) %x\n", i);
    if (i < 8) expected += "load ";
  }
  CHECK(OrderAfter(body) == expected + "fdiv load");
}

TEST_CASE("Loads of buffers that are only read are invariant", "[early_loads]") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(R"(
define void @k(ptr addrspace(1) noalias readonly %x, ptr addrspace(1) readonly %y, i32 %i) {
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %q = getelementptr float, ptr addrspace(1) %p, i32 1
  %own = load float, ptr addrspace(1) %q
  %other = load float, ptr addrspace(1) %y
  ret void
})",
                                                problem, context);
  REQUIRE(module != nullptr);
  MarkInvariantLoads(*module);
  for (const llvm::Instruction& instruction : module->getFunction("k")->getEntryBlock()) {
    if (!llvm::isa<llvm::LoadInst>(instruction)) continue;
    CHECK(instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load) ==
          (instruction.getName() == "own"));
  }
}

}  // namespace
}  // namespace hlo::gpu
