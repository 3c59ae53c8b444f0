// What all lanes of a warp do as one is convergent: LLVM neither moves it into a branch nor copies
// it to two places.
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <catch2/catch.hpp>
#include <map>

#include "backends/gpu/nvptx/nvptx.h"
#include "backends/gpu/run_case.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<llvm::Module> ParseLlvm(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  INFO(text);
  if (module == nullptr) FAIL(problem.getMessage().str());
  return module;
}

// How many calls of each kind the kernels of a module have; -1 where one is not convergent.
constexpr const char* kTogether[] = {".mma.", ".ldmatrix.", ".shfl.sync", ".barrier0"};
std::map<std::string, int> CountTogether(std::string_view hlo) {
  llvm::LLVMContext context;
  std::map<std::string, int> counts;
  const std::unique_ptr<llvm::Module> module = ParseLlvm(KernelsOf(hlo), context);
  for (const llvm::Function& function : *module) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr || call->getCalledFunction() == nullptr) continue;
        for (const char* kind : kTogether) {
          if (!call->getCalledFunction()->getName().contains(kind)) continue;
          int& count = counts[kind];
          count = call->isConvergent() && count >= 0 ? count + 1 : -1;
        }
      }
    }
  }
  return counts;
}

TEST_CASE("products of tensor cores and their loads are convergent", "[gpu][mma]") {
  struct Kind {
    const char *type, *numbers;
    bool has_ldmatrix;
  };
  constexpr const char* kRows = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  constexpr const char* kColumns = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  constexpr const char* kTf32 =
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_tf32_tf32_f32";
  for (const Kind& kind : {Kind{"bf16", kRows, true},
                           {"bf16", kColumns, true},
                           {"f16", kRows, true},
                           {"f32", kTf32, false}}) {
    CAPTURE(kind.type, kind.numbers);
    auto counts = CountTogether(fmt::format(
        "HloModule m\nENTRY main {{\nx = {0}[64,64] parameter(0)\ny = {0}[64,64] parameter(1)\n"
        "ROOT r = f32[64,64] dot(x, y), {1}\n}}",
        kind.type, kind.numbers));
    CHECK(counts[".mma."] > 0);
    CHECK((kind.has_ldmatrix ? counts[".ldmatrix."] > 0 : counts[".ldmatrix."] == 0));
    CHECK(counts[".barrier0"] > 0);
  }
}

TEST_CASE("shuffles are convergent", "[gpu]") {
  auto counts = CountTogether(
      "HloModule m\nadd {\na = f32[] parameter(0)\nb = f32[] parameter(1)\n"
      "ROOT c = f32[] add(a, b)\n}\nENTRY main {\nx = f32[64,256] parameter(0)\n"
      "zero = f32[] constant(0)\nROOT r = f32[64] reduce(x, zero), dimensions={1}, "
      "to_apply=add\n}");
  CHECK(counts[".shfl.sync"] > 0);
}

// Threads that come by `first` know where they go after `join`: what stands there is written
// twice, once for them, unless it is convergent.
std::string LoadAtJoin(std::string_view attribute) {
  llvm::LLVMContext context;
  const std::string text = fmt::format(R"(
declare {{ i32, i32, i32, i32 }} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @kernel(ptr addrspace(1) %to, i32 %n, ptr addrspace(3) %tile, i1 %other) {{
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is_first = icmp slt i32 %thread, %n
  br i1 %is_first, label %first, label %join
first:
  store volatile i32 1, ptr addrspace(1) %to
  br label %join
join:
  %go_on = phi i1 [ true, %first ], [ %other, %entry ]
  %words = call {{ i32, i32, i32, i32 }}
      @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %tile) {}
  %word = extractvalue {{ i32, i32, i32, i32 }} %words, 0
  store volatile i32 %word, ptr addrspace(1) %to
  br i1 %go_on, label %then, label %done
then:
  store volatile i32 2, ptr addrspace(1) %to
  br label %done
done:
  ret void
}})",
                                       attribute);
  UniqueKernel kernel{"join", "", "join"};
  llvm::raw_string_ostream stream(kernel.bitcode);
  llvm::WriteBitcodeToFile(*ParseLlvm(text, context), stream);
  const absl::StatusOr<Ptx> ptx = CompileToPtx({kernel}, PtxOptions());
  return ptx.ok() ? ptx->text : std::string(ptx.status().message());
}

int CountLoads(std::string_view ptx) {
  constexpr std::string_view kLoad = "ldmatrix.sync.aligned";
  int count = 0;
  for (size_t at = ptx.find(kLoad); at != std::string_view::npos; at = ptx.find(kLoad, at + 1))
    ++count;
  return count;
}

TEST_CASE("what is convergent stands once in the PTX", "[gpu][nvptx]") {
  CHECK(CountLoads(LoadAtJoin("convergent")) == 1);
  CHECK(CountLoads(LoadAtJoin("")) == 2);  // what the attribute is for
}

}  // namespace
}  // namespace hlo::gpu
