#include "backends/cpu/show_code.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "lib/support/status.h"

namespace hlo::cpu {

absl::Status ShowKernelCode(const Jit& jit, int number, const std::string& name,
                            const std::function<absl::Status(int, llvm::Module&)>& build,
                            const CompileOptions& options) {
  if (!options.Wants(EmitStage::kLlvm) && !options.Wants(EmitStage::kAsm)) return absl::OkStatus();
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = jit.NewModule(context, name);
  RETURN_IF_ERROR(build(number, *module));
  if (options.Wants(EmitStage::kLlvm)) options.emit_sink(EmitStage::kLlvm, Jit::ToText(*module));
  if (options.Wants(EmitStage::kAsm)) {
    ASSIGN_OR_RETURN(const std::string text, jit.EmitAssembly(*module));
    options.emit_sink(EmitStage::kAsm, text);
  }
  return absl::OkStatus();
}

}  // namespace hlo::cpu
