// backends/cpu/tile/emit_body.h
//
// The body of a kernel as LLVM code inside a function that is being written: what a kernel's own
// function and a loop that runs several kernels have in common. Internal: includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "backends/cpu/tile/emit_llvm.h"

namespace hlo::cpu::tile {

struct KernelArguments {
  std::vector<llvm::Value*> buffers;  // of kind kArgument, in order
  llvm::Value* begin = nullptr;       // tasks
  llvm::Value* end = nullptr;
  llvm::Value* scratch = nullptr;
};

// Appends the code at the insertion point of `b`, and leaves it after what was appended.
void EmitBody(const Kernel& kernel, const EmitOptions& options, const KernelArguments& arguments,
              llvm::IRBuilder<>& b);

}  // namespace hlo::cpu::tile
