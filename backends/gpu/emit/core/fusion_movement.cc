// Emission of opcodes that move elements, as far as the GPU has something of its own to say; the
// others are in backends/codegen/movement.h.
#include <algorithm>
#include <utility>

#include "backends/gpu/emit/core/fusion_emitter.h"
#include "lib/support/status.h"

namespace hlo::gpu {

llvm::Value* GpuFusionEmitter::And(llvm::Value* a, llvm::Value* b) {
  int64_t known = 0;
  if (KernelBuilder::IsConstant(a, &known) && known != 0) return b;
  if (KernelBuilder::IsConstant(b, &known) && known != 0) return a;
  return k_.b().CreateAnd(a, b);
}

llvm::Value* GpuFusionEmitter::InRange(llvm::Value* v, int64_t lo, int64_t hi) {
  llvm::Value* const from_low = k_.Offset(v, -lo);
  // One unsigned comparison answers both questions.
  return k_.b().CreateICmpULT(from_low, k_.Index(std::max<int64_t>(hi - lo, 0)));
}

absl::StatusOr<Emitted> GpuFusionEmitter::Guarded(const Ranges& ranges, const Emission& on_true,
                                                  const Emission& on_false, Outside /*outside*/) {
  llvm::Value* inside = k_.b().getTrue();
  for (const PositionRange<llvm::Value*>& range : ranges) {
    inside = And(inside, range.is_above ? k_.Less(range.value, k_.Index(range.hi))
                                        : InRange(range.value, range.lo, range.hi));
  }
  const auto listed = [](const Emission& make) {
    return [&make]() -> absl::StatusOr<EmittedList> {
      ASSIGN_OR_RETURN(const Emitted value, make());
      return EmittedList{value};
    };
  };
  ASSIGN_OR_RETURN(const EmittedList result, k_.Guarded(inside, listed(on_true), listed(on_false)));
  return result[0];
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitReshape(const Instruction* i,
                                                      const ArrayIndex& index) {
  const Instruction* const operand = i->operand(0);
  if (operand->shape().rank() == 0) return Emit(operand, ArrayIndex());
  return Emit(operand, index.Reshaped(operand->shape().dims(), k_));
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitIota(const Instruction* i, const ArrayIndex& index) {
  llvm::Value* const position =
      index.positions(k_)[static_cast<size_t>(i->attrs<IotaAttrs>().iota_dimension)];
  const ElementType wide = k_.index_type()->isIntegerTy(32) ? ElementType::kS32 : ElementType::kS64;
  return Convert({position, nullptr}, wide, i->shape().element_type());
}

// The elements of the narrow type are the pieces of one of the wide type, low bits first, along the
// minor-most dimension of the narrow array.
absl::StatusOr<Emitted> GpuFusionEmitter::EmitBitPieces(const Instruction* i,
                                                        const ArrayIndex& index) {
  const Instruction* const operand = i->operand(0);
  const ElementType from = operand->shape().element_type();
  const ElementType to = i->shape().element_type();
  auto& b = k_.b();
  const auto bits_of = [&](llvm::Value* v) {
    return b.CreateBitCast(v, b.getIntNTy(v->getType()->getPrimitiveSizeInBits()));
  };
  ArrayIndex::Positions positions = index.positions(k_);
  llvm::Value* bits = nullptr;
  if (BitWidth(to) < BitWidth(from)) {
    llvm::Value* const piece = positions.back();
    positions.pop_back();
    ASSIGN_OR_RETURN(const Emitted wide,
                     Emit(operand, ArrayIndex::At(operand->shape().dims(), positions)));
    llvm::Value* const word = bits_of(wide.value);
    llvm::Value* const shift = b.CreateZExtOrTrunc(k_.Scale(piece, BitWidth(to)), word->getType());
    bits =
        b.CreateTrunc(b.CreateLShr(word, shift), b.getIntNTy(static_cast<unsigned>(BitWidth(to))));
  } else {
    llvm::Type* const wide = b.getIntNTy(static_cast<unsigned>(BitWidth(to)));
    positions.push_back(nullptr);
    for (int piece = 0; piece < BitWidth(to) / BitWidth(from); ++piece) {
      positions.back() = k_.Index(piece);
      ASSIGN_OR_RETURN(const Emitted narrow,
                       Emit(operand, ArrayIndex::At(operand->shape().dims(), positions)));
      llvm::Value* const part =
          b.CreateShl(b.CreateZExt(bits_of(narrow.value), wide),
                      static_cast<uint64_t>(piece) * static_cast<uint64_t>(BitWidth(from)));
      bits = bits == nullptr ? part : b.CreateOr(bits, part);
    }
  }
  return Emitted{b.CreateBitCast(bits, RegisterType(b.getContext(), to)), nullptr};
}

// ---- starts known at run time ----

absl::StatusOr<GpuFusionEmitter::CheckedIndex> GpuFusionEmitter::IndexElement(
    const Instruction* instruction, const ArrayIndex& index, int64_t limit) {
  ASSIGN_OR_RETURN(const Emitted start, Emit(instruction, index));
  const ElementType type = instruction->shape().element_type();
  auto& b = k_.b();
  llvm::Value* const wide = b.CreateIntCast(start.value, b.getInt64Ty(), IsSigned(type));
  // A negative number is a large one; so is an unsigned number beyond 63 bits.
  llvm::Value* const fits = b.CreateICmpULE(wide, b.getInt64(static_cast<uint64_t>(limit)));
  llvm::Value* const cut = limit < 0 ? b.getFalse() : fits;
  return CheckedIndex{b.CreateTrunc(wide, k_.index_type()), cut};
}

absl::StatusOr<llvm::Value*> GpuFusionEmitter::ClampedStart(const Instruction* instruction,
                                                            const ArrayIndex& index,
                                                            int64_t limit) {
  if (limit == 0) return k_.Index(0);
  ASSIGN_OR_RETURN(const Emitted start, Emit(instruction, index));
  const ElementType type = instruction->shape().element_type();
  auto& b = k_.b();
  llvm::Value* wide = b.CreateIntCast(start.value, b.getInt64Ty(), IsSigned(type));
  llvm::Value* const zero = b.getInt64(0);
  llvm::Value* const most = b.getInt64(static_cast<uint64_t>(limit));
  if (IsSigned(type)) {
    wide = b.CreateSelect(b.CreateICmpSLT(wide, zero), zero, wide);
    wide = b.CreateSelect(b.CreateICmpSLT(most, wide), most, wide);
  } else {
    wide = b.CreateSelect(b.CreateICmpULT(most, wide), most, wide);
  }
  return b.CreateTrunc(wide, k_.index_type());
}

}  // namespace hlo::gpu
