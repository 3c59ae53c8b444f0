#include "passes/simplify/dynamic_dimension_simplifier.h"

#include <algorithm>

#include "lib/match/pattern.h"

namespace hlo {
namespace {

int64_t ConcatenatedDimension(const Instruction& x) {
  return x.attrs<ConcatenateAttrs>().dimensions.value;
}

// `x`, if it may stand for `old` as it is.
Instruction* IfSameShape(const Instruction* old, Instruction* x) {
  return Compatible(old->shape(), x->shape()) && !old->shape().has_dynamic_dims() ? x : nullptr;
}

// concatenate(concatenate(a, b), c)  =>  concatenate(a, b, c)
Instruction* FlattenSizes(Instruction* concatenate, Rewriter& rewriter) {
  const int64_t dimension = ConcatenatedDimension(*concatenate);
  std::vector<Instruction*> parts;
  for (Instruction* operand : concatenate->operands()) {
    if (operand->opcode() != Opcode::kConcatenate || ConcatenatedDimension(*operand) != dimension) {
      parts.push_back(operand);
      continue;
    }
    parts.insert(parts.end(), operand->operands().begin(), operand->operands().end());
  }
  if (static_cast<int>(parts.size()) == concatenate->operand_count()) return nullptr;
  return rewriter.Concatenate(parts, dimension);
}

// slice(concatenate(…, a, …))  =>  a, where the slice is all of a
Instruction* SliceOfSizes(Instruction* slice, Rewriter&) {
  Instruction* concatenate = slice->operand(0);
  if (concatenate->opcode() != Opcode::kConcatenate || slice->shape().rank() != 1) return nullptr;
  const SliceRange& range = slice->attrs<SliceAttrs>().slice[0];
  if (range.stride != 1) return nullptr;
  int64_t at = 0;
  for (Instruction* part : concatenate->operands()) {
    const int64_t size = part->shape().dim(0);
    if (at == range.start && at + size == range.limit) return IfSameShape(slice, part);
    at += size;
  }
  return nullptr;
}

// reshape(slice(reshape(a)))  =>  a of one element
Instruction* SizeOfSlice(Instruction* reshape, Rewriter&) {
  Instruction* a;
  if (!Match(reshape, m::Reshape(m::Slice(m::Reshape(m::Any(&a)))))) return nullptr;
  return a->shape().element_count() == 1 ? IfSameShape(reshape, a) : nullptr;
}

// reshape(reshape(a))  =>  a
Instruction* SizeBackAgain(Instruction* reshape, Rewriter&) {
  Instruction* a;
  return Match(reshape, m::Reshape(m::Reshape(m::Any(&a)))) ? IfSameShape(reshape, a) : nullptr;
}

// reshape(broadcast(a))  =>  a of one element
Instruction* SizeOfBroadcast(Instruction* reshape, Rewriter&) {
  Instruction* a;
  if (!Match(reshape, m::Reshape(m::Broadcast(m::Any(&a))))) return nullptr;
  return reshape->shape().element_count() == 1 ? IfSameShape(reshape, a) : nullptr;
}

// reshape(a), convert(a) of the same shape  =>  a
Instruction* DropIdentity(Instruction* x, Rewriter&) { return IfSameShape(x, x->operand(0)); }

constexpr Rule kDimensionRules[] = {
    {"concatenate-of-concatenate", Opcode::kConcatenate, kExact, FlattenSizes},
    {"slice-of-concatenate", Opcode::kSlice, kExact, SliceOfSizes},
    {"reshape-of-slice", Opcode::kReshape, kExact, SizeOfSlice},
    {"reshape-of-reshape", Opcode::kReshape, kExact, SizeBackAgain},
    {"reshape-of-broadcast", Opcode::kReshape, kExact, SizeOfBroadcast},
    {"reshape-of-itself", Opcode::kReshape, kExact, DropIdentity},
    {"convert-of-itself", Opcode::kConvert, kExact, DropIdentity},
};

}  // namespace

DynamicDimensionSimplifier::DynamicDimensionSimplifier() : RewritePass(this, kDimensionRules) {}

HLO_DEFINE_PASS(DynamicDimensionSimplifier)

}  // namespace hlo
