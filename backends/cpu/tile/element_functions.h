// backends/cpu/tile/element_functions.h
//
// Long functions that a kernel needs more than once, such as powers, are functions of its module
// that it calls: compiling their copies would take most of the time of such kernels. Constant
// operands are part of the function.
//
//   %y = call intel_ocl_bicc <16 x float> @power.f32x16.x.c0400000_0(<16 x float> %x)
//
// The calling convention is one in which half the vector registers keep their values, unless the
// function has calls of its own.
// Internal to this folder: includes LLVM headers.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "backends/cpu/tile/tile_ir.h"
#include "backends/llvm/element.h"

namespace hlo::cpu::tile {

class ElementFunctions final {
 public:
  ElementFunctions(const Kernel& kernel, NarrowConversions has);

  // The value of the element node `node`: by code at the insertion point of `b`, or by a call.
  Emitted Emit(llvm::IRBuilderBase& b, const Node& node, absl::Span<const Emitted> operands);

 private:
  std::string NameOf(const Node& node) const;
  Emitted EmitCode(llvm::IRBuilderBase& b, const Node& node,
                   absl::Span<const Emitted> operands) const;
  llvm::Function* FunctionFor(llvm::Module& module, const std::string& name, const Node& node,
                              absl::Span<const Emitted> operands) const;

  const Kernel& kernel_;
  NarrowConversions has_;
  absl::flat_hash_map<std::string, int> uses_;  // by name; 0: too short for a function
};

}  // namespace hlo::cpu::tile
