// backends/cpu/tile/emit_llvm.h
//
// A tile kernel as an LLVM function
//
//   void name(void** buffers, int64_t begin, int64_t end, void* scratch)
//
// `buffers` are the kernel's argument buffers in order, each 64-byte aligned or at least aligned
// for its element type; `scratch` has kernel.scratch_bytes bytes, 64-byte aligned, for this call
// alone. No LLVM pass need run on the result. This header includes no LLVM header.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/tile/tile_ir.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace hlo::cpu::tile {

using KernelFunction = void(void** buffers, int64_t begin, int64_t end, void* scratch);

struct EmitOptions {
  bool has_f16c = true;      // the processor converts between f16 and f32
  bool has_gathers = false;  // it loads lanes from anywhere faster than one by one
  // Accesses of the nodes that are marked (`checked` by number; none when it is empty) ask a Watch
  // (watch.h), whose address stands after the last of `buffers`; the code returns at the first that
  // is not allowed. Needs the symbols of watch.h.
  std::vector<bool> checked;
};

// Adds the function `name` to `module`. The caller gives it the attributes of its Jit
// (Jit::SetUpFunction).
absl::StatusOr<llvm::Function*> EmitLlvm(const Kernel& kernel, std::string_view name,
                                         const EmitOptions& options, llvm::Module& module);

}  // namespace hlo::cpu::tile
