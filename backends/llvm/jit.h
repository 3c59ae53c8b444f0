// backends/llvm/jit.h
//
// From an LLVM module to code that can be called. No IR pass runs: the emitter is expected to write
// the code it wants. Code generation is set up for latency (see jit.cc), for a processor given by
// features.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create(options));
//   llvm::LLVMContext context;                          // one per compile task
//   auto module = jit->NewModule(context, "kernel.1");
//   llvm::Function* f = …;  jit->SetUpFunction(*f);
//   ASSIGN_OR_RETURN(std::unique_ptr<CompiledCode> code, jit->Compile(*module));
//   auto* fn = code->Function<void(float*)>("kernel.1");
//
// All functions of Jit may be called from several threads at once, on modules of different
// contexts. This header includes no LLVM header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace llvm {
class Function;
class LLVMContext;
class Module;
}  // namespace llvm

namespace hlo {

class ThreadPool;

// How hard the code generator works.
enum class CodegenLevel { kNone, kLess, kDefault, kAggressive };

struct JitOptions {
  std::string cpu = "x86-64";  // as LLVM names it; from features, see backends/cpu/library/host.h
  std::string features;        // "+avx512bf16,-prefer-256-bit"
  int vector_bits = 256;       // widest vectors the code generator may keep whole
  CodegenLevel level = CodegenLevel::kLess;
  bool verify = false;      // run LLVM's verifier on each module first
  bool links_only = false;  // no code is generated: there is none of LLVM's set-up
};

// Equal for options that give the same code.
std::string KeyOf(const JitOptions& options);

// Machine code in memory, ready to run; it lives as long as this object.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;

  // The address of the function or variable `name`, or null.
  virtual void* Find(std::string_view name) const = 0;

  // Bytes of memory it occupies, rounded up to pages.
  virtual int64_t bytes() const = 0;

  template <class Signature>
  Signature* Function(std::string_view name) const {
    return reinterpret_cast<Signature*>(Find(name));
  }
};

// What several modules were compiled to, and how long that took on all threads: the steps share
// the time in which all was done.
struct CompiledCodes {
  std::vector<std::unique_ptr<CompiledCode>> codes;
  double compile_ms = 0;
  double link_ms = 0;
};

class Jit final {
 public:
  static absl::StatusOr<std::unique_ptr<Jit>> Create(JitOptions options);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  const JitOptions& options() const { return options_; }

  // Makes `name` callable from compiled code, before the linker looks in this process. Not to be
  // called while another thread compiles.
  void DefineSymbol(std::string_view name, void* address);

  // An empty module for the target.
  std::unique_ptr<llvm::Module> NewModule(llvm::LLVMContext& context, std::string_view name) const;

  // Gives a function and the internal ones of its module our attributes: vector width,
  // no unwinding.
  void SetUpFunction(llvm::Function& function) const;

  // Compiles to a relocatable object file (which may be kept on disk), and puts such a file in
  // memory.
  absl::StatusOr<std::string> EmitObject(llvm::Module& module) const;
  absl::StatusOr<std::unique_ptr<CompiledCode>> Link(std::string_view object) const;

  // EmitObject and Link.
  absl::StatusOr<std::unique_ptr<CompiledCode>> Compile(llvm::Module& module) const;

  // Builds and compiles `count` modules on the pool, each in a context of its own. `build(i,
  // module)` fills module i, from any worker. `take(i, object)`, if not null, is called in order
  // with the object files. The first failure in order is returned.
  absl::StatusOr<CompiledCodes> CompileAll(
      ThreadPool& pool, int count, const std::function<absl::Status(int, llvm::Module&)>& build,
      const std::function<void(int, std::string)>& take = nullptr) const;

  // The module as assembly of the target, for reading.
  absl::StatusOr<std::string> EmitAssembly(llvm::Module& module) const;

  // The module as LLVM text.
  static std::string ToText(const llvm::Module& module);

 private:
  struct State;  // target machines, symbols, memory manager

  Jit(JitOptions options, std::unique_ptr<State> state);
  absl::Status Check(const llvm::Module& module) const;

  JitOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace hlo
