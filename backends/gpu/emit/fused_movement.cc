// Emission of opcodes that move elements: arithmetic on the index.
#include <algorithm>
#include <utility>

#include "backends/gpu/emit/fused_emitter.h"
#include "lib/support/status.h"

namespace hlo::gpu {

llvm::Value* FusedEmitter::And(llvm::Value* a, llvm::Value* b) {
  int64_t known = 0;
  if (KernelBuilder::IsConstant(a, &known) && known != 0) return b;
  if (KernelBuilder::IsConstant(b, &known) && known != 0) return a;
  return k_.b().CreateAnd(a, b);
}

llvm::Value* FusedEmitter::InRange(llvm::Value* v, int64_t lo, int64_t hi) {
  llvm::Value* const from_low = k_.Offset(v, -lo);
  // One unsigned comparison answers both questions.
  return k_.b().CreateICmpULT(from_low, k_.Index(std::max<int64_t>(hi - lo, 0)));
}

absl::StatusOr<Emitted> FusedEmitter::Choose(
    llvm::Value* condition, const std::function<absl::StatusOr<Emitted>()>& on_true,
    const std::function<absl::StatusOr<Emitted>()>& on_false) {
  const auto listed = [](const std::function<absl::StatusOr<Emitted>()>& make) {
    return [&make]() -> absl::StatusOr<EmittedList> {
      ASSIGN_OR_RETURN(const Emitted value, make());
      return EmittedList{value};
    };
  };
  ASSIGN_OR_RETURN(const EmittedList result,
                   k_.Guarded(condition, listed(on_true), listed(on_false)));
  return result[0];
}

absl::StatusOr<Emitted> FusedEmitter::EmitBroadcast(const Instruction* i, const ArrayIndex& index) {
  const Instruction* const operand = i->operand(0);
  const ArrayIndex::Positions outer = index.positions(k_);
  ArrayIndex::Positions inner;
  for (const int64_t d : i->attrs<BroadcastAttrs>().dimensions) {
    const bool spread = operand->shape().dim(static_cast<int>(inner.size())) == 1;
    inner.push_back(spread ? k_.Index(0) : outer[static_cast<size_t>(d)]);
  }
  if (inner.empty()) return Emit(operand, ArrayIndex());
  return Emit(operand, ArrayIndex::At(operand->shape().dims(), std::move(inner)));
}

absl::StatusOr<Emitted> FusedEmitter::EmitReshape(const Instruction* i, const ArrayIndex& index) {
  const Instruction* const operand = i->operand(0);
  if (operand->shape().rank() == 0) return Emit(operand, ArrayIndex());
  return Emit(operand, index.Reshaped(operand->shape().dims(), k_));
}

absl::StatusOr<Emitted> FusedEmitter::EmitTranspose(const Instruction* i, const ArrayIndex& index) {
  const DimVec& order = i->attrs<TransposeAttrs>().dimensions;
  const ArrayIndex::Positions outer = index.positions(k_);
  ArrayIndex::Positions inner(outer.size(), nullptr);
  for (size_t d = 0; d < order.size(); ++d) inner[static_cast<size_t>(order[d])] = outer[d];
  return Emit(i->operand(0), ArrayIndex::At(i->operand(0)->shape().dims(), std::move(inner)));
}

absl::StatusOr<Emitted> FusedEmitter::EmitReverse(const Instruction* i, const ArrayIndex& index) {
  ArrayIndex::Positions positions = index.positions(k_);
  for (const int64_t d : i->attrs<ReverseAttrs>().dimensions) {
    llvm::Value*& position = positions[static_cast<size_t>(d)];
    position = k_.Sub(k_.Index(i->shape().dim(static_cast<int>(d)) - 1), position);
  }
  return Emit(i->operand(0), ArrayIndex::At(i->shape().dims(), std::move(positions)));
}

absl::StatusOr<Emitted> FusedEmitter::EmitSlice(const Instruction* i, const ArrayIndex& index) {
  const SliceRanges& ranges = i->attrs<SliceAttrs>().slice;
  ArrayIndex::Positions positions = index.positions(k_);
  for (size_t d = 0; d < positions.size(); ++d)
    positions[d] = k_.Offset(k_.Scale(positions[d], ranges[d].stride), ranges[d].start);
  return Emit(i->operand(0), ArrayIndex::At(i->operand(0)->shape().dims(), std::move(positions)));
}

absl::StatusOr<Emitted> FusedEmitter::EmitConcatenate(const Instruction* i,
                                                      const ArrayIndex& index) {
  const auto dim = static_cast<size_t>(i->attrs<ConcatenateAttrs>().dimensions.value);
  const ArrayIndex::Positions outer = index.positions(k_);
  const std::function<absl::StatusOr<Emitted>(int, int64_t)> from =
      [&](int o, int64_t start) -> absl::StatusOr<Emitted> {
    const Instruction* const operand = i->operand(o);
    const int64_t end = start + operand->shape().dim(static_cast<int>(dim));
    const auto inside = [&]() -> absl::StatusOr<Emitted> {
      ArrayIndex::Positions inner = outer;
      inner[dim] = k_.Offset(outer[dim], -start);
      return Emit(operand, ArrayIndex::At(operand->shape().dims(), std::move(inner)));
    };
    if (o + 1 == i->operand_count()) return inside();
    return Choose(k_.Less(outer[dim], k_.Index(end)), inside, [&] { return from(o + 1, end); });
  };
  return from(0, 0);
}

absl::StatusOr<Emitted> FusedEmitter::EmitPad(const Instruction* i, const ArrayIndex& index) {
  const PaddingConfig& padding = i->attrs<PadAttrs>().padding;
  const Instruction* const operand = i->operand(0);
  ArrayIndex::Positions positions = index.positions(k_);
  llvm::Value* inside = k_.b().getTrue();
  for (size_t d = 0; d < positions.size(); ++d) {
    const PaddingDim& pad = padding[static_cast<int>(d)];
    const int64_t size = operand->shape().dim(static_cast<int>(d));
    if (pad.low == 0 && pad.high == 0 && pad.interior == 0) continue;
    const int64_t step = pad.interior + 1;
    llvm::Value* place = k_.Offset(positions[d], -pad.low);
    inside = And(inside, InRange(place, 0, (size - 1) * step + 1));
    if (step > 1) {
      inside = And(inside, k_.b().CreateICmpEQ(k_.Rem(place, step), k_.Index(0)));
      place = k_.Div(place, step);
    }
    positions[d] = place;
  }
  return Choose(
      inside, [&] { return Emit(operand, ArrayIndex::At(operand->shape().dims(), positions)); },
      [&] { return Emit(i->operand(1), ArrayIndex()); });
}

absl::StatusOr<Emitted> FusedEmitter::EmitIota(const Instruction* i, const ArrayIndex& index) {
  llvm::Value* const position =
      index.positions(k_)[static_cast<size_t>(i->attrs<IotaAttrs>().iota_dimension)];
  const ElementType wide = k_.index_type()->isIntegerTy(32) ? ElementType::kS32 : ElementType::kS64;
  return Convert({position, nullptr}, wide, i->shape().element_type());
}

// The elements of the narrow type are the pieces of one of the wide type, low bits first, along the
// minor-most dimension of the narrow array.
absl::StatusOr<Emitted> FusedEmitter::EmitBitPieces(const Instruction* i, const ArrayIndex& index) {
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

absl::StatusOr<FusedEmitter::CheckedIndex> FusedEmitter::IndexElement(
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

absl::StatusOr<llvm::Value*> FusedEmitter::ClampedStart(const Instruction* instruction,
                                                        const ArrayIndex& index, int64_t limit) {
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

absl::StatusOr<Emitted> FusedEmitter::EmitDynamicSlice(const Instruction* i,
                                                       const ArrayIndex& index) {
  const Instruction* const operand = i->operand(0);
  ArrayIndex::Positions positions = index.positions(k_);
  for (int d = 0; d < operand->shape().rank(); ++d) {
    const int64_t limit = operand->shape().dim(d) - i->shape().dim(d);
    ASSIGN_OR_RETURN(llvm::Value* const start,
                     ClampedStart(i->operand(1 + d), ArrayIndex(), limit));
    positions[static_cast<size_t>(d)] = k_.Add(start, positions[static_cast<size_t>(d)]);
  }
  return Emit(operand, ArrayIndex::At(operand->shape().dims(), std::move(positions)));
}

absl::StatusOr<Emitted> FusedEmitter::EmitDynamicUpdateSlice(const Instruction* i,
                                                             const ArrayIndex& index) {
  const Instruction* const update = i->operand(1);
  ArrayIndex::Positions positions = index.positions(k_);
  llvm::Value* inside = k_.b().getTrue();
  for (int d = 0; d < update->shape().rank(); ++d) {
    const int64_t size = update->shape().dim(d);
    ASSIGN_OR_RETURN(llvm::Value* const start,
                     ClampedStart(i->operand(2 + d), ArrayIndex(), i->shape().dim(d) - size));
    llvm::Value*& position = positions[static_cast<size_t>(d)];
    position = k_.Sub(position, start);
    if (size != i->shape().dim(d)) inside = And(inside, InRange(position, 0, size));
  }
  return Choose(
      inside, [&] { return Emit(update, ArrayIndex::At(update->shape().dims(), positions)); },
      [&] { return Emit(i->operand(0), index); });
}

absl::StatusOr<Emitted> FusedEmitter::EmitGather(const Instruction* i, const ArrayIndex& index) {
  const auto& attrs = i->attrs<GatherAttrs>();
  const Instruction* const operand = i->operand(0);
  const Instruction* const indices = i->operand(1);
  const auto contains = [](const DimVec& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  const ArrayIndex::Positions outer = index.positions(k_);
  // The result's dimensions: those of the batch, and those inside the slice.
  ArrayIndex::Positions batch, offset;
  for (size_t d = 0; d < outer.size(); ++d)
    (contains(attrs.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(outer[d]);
  const auto rank = static_cast<size_t>(operand->shape().rank());
  ArrayIndex::Positions inner(rank, k_.Index(0));
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (!contains(attrs.collapsed_slice_dims, dim) && !contains(attrs.operand_batching_dims, dim))
      inner[d] = offset[next++];
  }
  // Position `n` of the start vector of this batch element.
  const auto start_index = [&](int64_t n) {
    ArrayIndex::Positions at;
    size_t b = 0;
    for (int64_t d = 0; d < indices->shape().rank(); ++d)
      at.push_back(d == attrs.index_vector_dim ? k_.Index(n) : batch[b++]);
    return ArrayIndex::At(indices->shape().dims(), std::move(at));
  };
  for (size_t n = 0; n < attrs.operand_batching_dims.size(); ++n) {
    const int64_t d = attrs.start_indices_batching_dims[n];
    inner[static_cast<size_t>(attrs.operand_batching_dims[n])] =
        batch[static_cast<size_t>(d < attrs.index_vector_dim ? d : d - 1)];
  }
  for (size_t n = 0; n < attrs.start_index_map.size(); ++n) {
    const int64_t d = attrs.start_index_map[n];
    const int64_t limit =
        operand->shape().dim(static_cast<int>(d)) - attrs.slice_sizes[static_cast<size_t>(d)];
    ASSIGN_OR_RETURN(llvm::Value* const start,
                     ClampedStart(indices, start_index(static_cast<int64_t>(n)), limit));
    inner[static_cast<size_t>(d)] = k_.Add(inner[static_cast<size_t>(d)], start);
  }
  return Emit(operand, ArrayIndex::At(operand->shape().dims(), std::move(inner)));
}

}  // namespace hlo::gpu
