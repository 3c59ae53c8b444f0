// Kernels with more shared memory than they may declare take it with their launch.
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <catch2/catch.hpp>

#include "backends/gpu/nvptx/assembler.h"
#include "backends/gpu/nvptx/nvptx.h"

namespace hlo::gpu {
namespace {

// Two arrays of `floats` each, of which a kernel writes one and reads the other; the second
// begins at a multiple of 16 bytes.
UniqueKernel TwoArrays(int floats) {
  const std::string text = fmt::format(R"(
@first = internal addrspace(3) global [{0} x float] poison, align 4
@second = internal addrspace(3) global [{0} x float] poison, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
define void @kernel(ptr addrspace(1) %to) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr float, ptr addrspace(3) @first, i32 %i
  %b = getelementptr float, ptr addrspace(3) @second, i32 %i
  store float 1.0, ptr addrspace(3) %a
  store float 2.0, ptr addrspace(3) %b
  call void @llvm.nvvm.barrier0()
  %x = load volatile float, ptr addrspace(3) @first
  %y = load volatile float, ptr addrspace(3) getelementptr (float, ptr addrspace(3) @second, i32 1)
  %sum = fadd float %x, %y
  store float %sum, ptr addrspace(1) %to
  ret void
}}
!nvvm.annotations = !{{!0}}
!0 = !{{ptr @kernel, !"kernel", i32 1}})",
                                       floats);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) FAIL(problem.getMessage().str());
  const std::string name = fmt::format("of_{}", floats);
  UniqueKernel kernel{name, "", name};
  llvm::raw_string_ostream stream(kernel.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return kernel;
}

TEST_CASE("more shared memory than a kernel may declare comes with its launch", "[gpu][nvptx]") {
  // 8191 * 4 = 32764 bytes, and 4 up to the next multiple of 16.
  const UniqueKernel kernels[] = {TwoArrays(64), TwoArrays(8191), TwoArrays(6144), TwoArrays(6145)};
  const absl::StatusOr<Ptx> ptx = CompileToPtx(kernels, PtxOptions());
  REQUIRE(ptx.ok());
  const int64_t expected[] = {0, 65532, 0, 49172};
  REQUIRE(ptx->kernels.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(kernels[i].name);
    CHECK(ptx->kernels[i].name == kernels[i].symbol);
    CHECK(ptx->kernels[i].shared_bytes == expected[i]);
    const absl::StatusOr<KernelEntry> entry = EntryOf(kernels[i]);
    REQUIRE(entry.ok());
    CHECK(entry->name == ptx->kernels[i].name);
    CHECK(entry->shared_bytes == expected[i]);
  }
  using Catch::Matchers::Contains;
  CHECK_THAT(ptx->text, Contains(".extern .shared .align 16 .b8 hlo_launch_shared[]"));
  CHECK_THAT(ptx->text, Contains(".b8 first[256]"));
  CHECK_THAT(ptx->text, Contains("hlo_launch_shared+32772"));  // the second array's element 1
  CHECK_THAT(ptx->text, !Contains("[32764]"));
  if (!FindPtxas().ok()) return;
  const absl::StatusOr<Assembled> assembled = AssembleByPtxas(ptx->text, kDefaultTarget);
  REQUIRE(assembled.ok());
  CHECK(assembled->warnings == "");
}

}  // namespace
}  // namespace hlo::gpu
