// backends/cpu/tile/emit_element.h
//
// One `element` node of tile IR as LLVM code. Internal to the emitter: includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

// A tile value in LLVM: integers and f32, f64 as themselves, pred as i1, a narrow float (bf16, f8…)
// as the integer of its code, complex as two values.
struct Emitted {
  llvm::Value* value = nullptr;
  llvm::Value* imaginary = nullptr;
};

// The LLVM type of one lane (of one part, for complex).
llvm::Type* RegisterType(llvm::LLVMContext& context, ElementType type);

// The types that the processor itself converts: f16 to f32 and back, f32 to bf16.
struct NarrowConversions {
  bool f16 = false;
  bool bf16 = false;
};

// `types` are the operands' element types.
Emitted EmitElement(llvm::IRBuilderBase& b, NarrowConversions has, const Node& node,
                    ElementType result, const ElementType* types, const Emitted* operands);

// The same for arithmetic on complex numbers of `type`; abs gives a real number.
Emitted EmitComplex(llvm::IRBuilderBase& b, Opcode op, ElementType type, const Emitted* operands,
                    size_t count);

}  // namespace hlo::cpu::tile
