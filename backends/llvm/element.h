// backends/llvm/element.h
//
// One elementwise operation on values in registers as LLVM code, for every target: the meaning is
// that of lib/eval/scalar_ops.h. For emitters: includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "absl/types/span.h"
#include "lib/eval/element_attrs.h"
#include "lib/ops/ops.h"
#include "lib/types/element_type.h"

namespace hlo {

// An element (or a vector of them) in LLVM: integers and f32, f64 as themselves, pred as i1, a
// narrow float (bf16, f8…) as the integer of its code, complex as two values.
struct Emitted {
  llvm::Value* value = nullptr;
  llvm::Value* imaginary = nullptr;
};

// The LLVM type of one lane (of one part, for complex).
llvm::Type* RegisterType(llvm::LLVMContext& context, ElementType type);
// The same as it lies in memory: pred is a byte.
llvm::Type* MemoryType(llvm::LLVMContext& context, ElementType type);

// A phi of values like `like` at the builder's place, and what it is when control comes from a
// block.
Emitted AddPhi(llvm::IRBuilderBase& b, const Emitted& like);
void AddIncoming(const Emitted& phi, const Emitted& value, llvm::BasicBlock* from);

// The types that the processor itself converts: f16 to f32 and back, f32 to bf16.
struct NarrowConversions {
  bool f16 = false;
  bool bf16 = false;
};

struct ElementOp {
  Opcode opcode = Opcode::kAdd;
  ElementType result = ElementType::kF32;
  ElementAttrs attrs = {};
};

// `types` are the operands' element types.
Emitted EmitElement(llvm::IRBuilderBase& b, NarrowConversions has, const ElementOp& op,
                    absl::Span<const ElementType> types, absl::Span<const Emitted> operands);

// The same for arithmetic on complex numbers of `type`; abs gives a real number.
Emitted EmitComplex(llvm::IRBuilderBase& b, Opcode op, ElementType type,
                    absl::Span<const Emitted> operands);

}  // namespace hlo
