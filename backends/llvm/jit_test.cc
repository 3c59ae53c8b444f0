#include "backends/llvm/jit.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <catch2/catch.hpp>
#include <vector>

#include "lib/support/thread_pool.h"

namespace hlo {
namespace {

constexpr std::string_view kAddFour = R"(
define void @add_four(ptr %a, ptr %b, ptr %out) {
  %x = load <4 x float>, ptr %a, align 4
  %y = load <4 x float>, ptr %b, align 4
  %s = fadd <4 x float> %x, %y
  store <4 x float> %s, ptr %out, align 4
  ret void
})";

std::unique_ptr<Jit> MakeJit() {
  JitOptions options;
  options.verify = true;
  absl::StatusOr<std::unique_ptr<Jit>> jit = Jit::Create(options);
  REQUIRE(jit.ok());
  return *std::move(jit);
}

// Parses LLVM text into `module`.
void ParseInto(std::string_view text, llvm::Module& module) {
  llvm::SMDiagnostic problem;
  const std::string copy(text);
  const bool failed =
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(copy, "test"), &module, nullptr, problem);
  if (failed) FAIL(problem.getMessage().str());
}

TEST_CASE("a module becomes a function that can be called", "[llvm][jit]") {
  const std::unique_ptr<Jit> jit = MakeJit();
  llvm::LLVMContext context;
  const auto module = jit->NewModule(context, "m");
  ParseInto(kAddFour, *module);
  absl::StatusOr<std::unique_ptr<CompiledCode>> code = jit->Compile(*module);
  REQUIRE(code.ok());
  auto* add = (*code)->Function<void(const float*, const float*, float*)>("add_four");
  REQUIRE(add != nullptr);
  CHECK((*code)->Find("nothing") == nullptr);
  CHECK((*code)->bytes() >= 4096);
  const float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
  float out[4] = {};
  add(a, b, out);
  CHECK(out[0] == 11);
  CHECK(out[3] == 44);
}

int32_t AddOne(int32_t x) { return x + 1; }

constexpr std::string_view kCalls = R"(
declare i32 @add_one(i32)
declare double @cos(double)
define i32 @twice(i32 %x) {
  %a = call i32 @add_one(i32 %x)
  %b = call i32 @add_one(i32 %a)
  ret i32 %b
}
define double @cosine(double %x) {
  %y = call double @cos(double %x)
  ret double %y
})";

TEST_CASE("compiled code calls given symbols and symbols of the process", "[llvm][jit]") {
  const std::unique_ptr<Jit> jit = MakeJit();
  jit->DefineSymbol("add_one", reinterpret_cast<void*>(&AddOne));
  llvm::LLVMContext context;
  const auto module = jit->NewModule(context, "m");
  ParseInto(kCalls, *module);
  absl::StatusOr<std::unique_ptr<CompiledCode>> code = jit->Compile(*module);
  REQUIRE(code.ok());
  CHECK((*code)->Function<int32_t(int32_t)>("twice")(40) == 42);
  CHECK((*code)->Function<double(double)>("cosine")(0.0) == 1.0);
}

TEST_CASE("a missing symbol and wrong IR are errors, not aborts", "[llvm][jit]") {
  const std::unique_ptr<Jit> jit = MakeJit();
  llvm::LLVMContext context;
  const auto module = jit->NewModule(context, "m");
  ParseInto(
      "declare i32 @hlo_no_such_function()\n"
      "define i32 @f() { %a = call i32 @hlo_no_such_function()\n ret i32 %a }",
      *module);
  const absl::StatusOr<std::unique_ptr<CompiledCode>> code = jit->Compile(*module);
  REQUIRE_FALSE(code.ok());
  CHECK(std::string(code.status().message()).find("hlo_no_such_function") != std::string::npos);
  CHECK_FALSE(jit->Link("not an object").ok());
}

TEST_CASE("a multiply and an add stay two roundings", "[llvm][jit]") {
  JitOptions options;
  options.cpu = "x86-64-v3";
  absl::StatusOr<std::unique_ptr<Jit>> jit = Jit::Create(options);
  REQUIRE(jit.ok());
  llvm::LLVMContext context;
  const auto module = (*jit)->NewModule(context, "m");
  ParseInto(
      "define <8 x float> @f(<8 x float> %a, <8 x float> %b) {\n"
      "%m = fmul <8 x float> %a, %b\n %s = fadd <8 x float> %m, %a\n ret <8 x float> %s }",
      *module);
  for (llvm::Function& function : *module) (*jit)->SetUpFunction(function);
  CHECK(Jit::ToText(*module).find("fmul <8 x float>") != std::string::npos);
  const absl::StatusOr<std::string> assembly = (*jit)->EmitAssembly(*module);
  REQUIRE(assembly.ok());
  CHECK(assembly->find("vmulps") != std::string::npos);
  CHECK(assembly->find("ymm") != std::string::npos);
  CHECK(assembly->find("vfmadd") == std::string::npos);
}

TEST_CASE("many modules compile in parallel and the first failure is reported", "[llvm][jit]") {
  const std::unique_ptr<Jit> jit = MakeJit();
  ThreadPool pool(3);
  const auto build = [](int i, llvm::Module& module) {
    ParseInto("define i32 @f() { ret i32 " + std::to_string(i * 7) + " }", module);
    return absl::OkStatus();
  };
  std::vector<std::string> objects;
  auto compiled = jit->CompileAll(pool, 40, build, [&](int i, std::string object) {
    CHECK(i == static_cast<int>(objects.size()));
    objects.push_back(std::move(object));
  });
  REQUIRE(compiled.ok());
  CHECK(compiled->compile_ms > 0);
  REQUIRE(objects.size() == 40);
  const auto relinked = jit->Link(objects[6]);
  REQUIRE(relinked.ok());
  CHECK((*relinked)->Function<int32_t()>("f")() == 42);
  for (int i = 0; i < 40; ++i) {
    CHECK(compiled->codes[static_cast<size_t>(i)]->Function<int32_t()>("f")() == i * 7);
  }
  const auto fail = [&](int i, llvm::Module& module) {
    if (i == 3 || i == 7) return absl::InternalError(i == 3 ? "three" : "seven");
    return build(i, module);
  };
  CHECK(jit->CompileAll(pool, 9, fail).status().message() == "three");
}

}  // namespace
}  // namespace hlo
