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

// `types` are the operands' element types. `has_f16c`: the processor converts between f16 and f32.
Emitted EmitElement(llvm::IRBuilderBase& b, bool has_f16c, const Node& node, ElementType result,
                    const ElementType* types, const Emitted* operands);

// The same for arithmetic on complex numbers of `type`; abs gives a real number.
Emitted EmitComplex(llvm::IRBuilderBase& b, Opcode op, ElementType type, const Emitted* operands,
                    size_t count);

}  // namespace hlo::cpu::tile
