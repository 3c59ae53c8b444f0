// One process compiles for two targets at once: neither sees the other's settings of LLVM.
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "backends/gpu/nvptx/nvptx.h"
#include "backends/llvm/jit.h"

namespace hlo::gpu {
namespace {

// A loop that comes out different with and without strength reduction, which the CPU leaves out.
std::unique_ptr<llvm::Module> LoopIn(llvm::LLVMContext& context, std::string_view pointer) {
  const std::string text = fmt::format(R"(
define void @kernel({0} %a, {0} %b, i64 %n, i64 %stride) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul i64 %i, %stride
  %from = getelementptr float, {0} %a, i64 %at
  %x = load float, {0} %from
  %to = getelementptr float, {0} %b, i64 %at
  store float %x, {0} %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}})",
                                       pointer);
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) FAIL(problem.getMessage().str());
  return module;
}

std::string AssemblyOfHost(const Jit& jit) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = LoopIn(context, "ptr");
  const std::unique_ptr<llvm::Module> empty = jit.NewModule(context, "");
  module->setTargetTriple(empty->getTargetTriple());
  module->setDataLayout(empty->getDataLayout());
  const absl::StatusOr<std::string> text = jit.EmitAssembly(*module);
  return text.ok() ? *text : std::string();
}

UniqueKernel KernelForGpu() {
  llvm::LLVMContext context;
  UniqueKernel kernel{"loop", "", "loop"};
  llvm::raw_string_ostream stream(kernel.bitcode);
  llvm::WriteBitcodeToFile(*LoopIn(context, "ptr addrspace(1)"), stream);
  return kernel;
}

std::string PtxOf(const UniqueKernel& kernel) {
  const absl::StatusOr<Ptx> ptx = CompileToPtx({kernel}, PtxOptions());
  return ptx.ok() ? ptx->text : std::string();
}

// How often what `compile` gives is not `expected`.
std::thread Repeat(int times, const std::string& expected, int& differ,
                   std::function<std::string()> compile) {
  return std::thread([=, &expected, &differ] {
    for (int i = 0; i < times; ++i) differ += compile() == expected ? 0 : 1;
  });
}

TEST_CASE("two targets are compiled for at once") {
  const absl::StatusOr<std::unique_ptr<Jit>> jit = Jit::Create({});
  REQUIRE(jit.ok());
  const UniqueKernel kernel = KernelForGpu();
  const std::string host = AssemblyOfHost(**jit);
  const std::string ptx = PtxOf(kernel);
  REQUIRE_FALSE(host.empty());
  REQUIRE_FALSE(ptx.empty());
  int host_differs = 0, ptx_differs = 0;
  std::thread cpu = Repeat(50, host, host_differs, [&] { return AssemblyOfHost(**jit); });
  std::thread gpu = Repeat(50, ptx, ptx_differs, [&] { return PtxOf(kernel); });
  cpu.join();
  gpu.join();
  CHECK(host_differs == 0);
  CHECK(ptx_differs == 0);
}

}  // namespace
}  // namespace hlo::gpu
