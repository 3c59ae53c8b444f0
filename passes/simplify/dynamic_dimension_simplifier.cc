#include "passes/simplify/dynamic_dimension_simplifier.h"

#include <vector>

#include "lib/match/pattern.h"

namespace hlo {
namespace {

int64_t ConcatenatedDimension(const Instruction& x) {
  return x.attrs<ConcatenateAttrs>().dimensions.value;
}

// `x`, if it has the shape of `old`, layout and dynamic dimensions included.
Instruction* IfSameShape(const Instruction* old, Instruction* x) {
  return old->shape() == x->shape() ? x : nullptr;
}

// The size of a dynamic dimension follows from the number of elements: of two it may be another.
bool HasOneSizeFor(Shape shape) {
  int dynamic = 0;
  for (int dim = 0; dim < shape.rank(); ++dim) dynamic += shape.is_dynamic(dim);
  return dynamic < 2;
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
  return rewriter.OpWithShape(Opcode::kConcatenate, concatenate->shape(), parts,
                              concatenate->attrs_ptr());
}

// slice(concatenate(…, a, …))  =>  a, where the slice is all of a
Instruction* SliceOfSizes(Instruction* slice, Rewriter&) {
  Instruction* concatenate = slice->operand(0);
  if (concatenate->opcode() != Opcode::kConcatenate || slice->shape().rank() != 1) return nullptr;
  const SliceRange& range = slice->attrs<SliceAttrs>().slice[0];
  if (range.stride != 1) return nullptr;
  int64_t at = 0;
  for (Instruction* part : concatenate->operands()) {
    if (part->shape().has_dynamic_dims()) return nullptr;  // what is after it may be anywhere
    const int64_t size = part->shape().dim(0);
    if (at == range.start && at + size == range.limit)
      return Compatible(slice->shape(), part->shape()) ? part : nullptr;
    at += size;
  }
  return nullptr;
}

// reshape(broadcast(a))  =>  a, a scalar
Instruction* SizeOfBroadcast(Instruction* reshape, Rewriter&) {
  Instruction* a;
  if (!Match(reshape, m::Reshape(m::Broadcast(m::Any(&a))))) return nullptr;
  const bool is_vector = reshape->operand(0)->shape().rank() == 1 && reshape->shape().IsScalar();
  return is_vector ? IfSameShape(reshape, a) : nullptr;
}

// reshape(reshape(a))  =>  a
Instruction* SizeBackAgain(Instruction* reshape, Rewriter&) {
  Instruction* a;
  if (!Match(reshape, m::Reshape(m::Reshape(m::Any(&a))))) return nullptr;
  return HasOneSizeFor(a->shape()) ? IfSameShape(reshape, a) : nullptr;
}

// convert(a) of the same shape  =>  a
Instruction* DropConvert(Instruction* convert, Rewriter&) {
  return IfSameShape(convert, convert->operand(0));
}

// reshape(a) of the same shape  =>  a
Instruction* DropReshape(Instruction* reshape, Rewriter&) {
  return HasOneSizeFor(reshape->shape()) ? IfSameShape(reshape, reshape->operand(0)) : nullptr;
}

constexpr Rule kDimensionRules[] = {
    {"concatenate-of-concatenate", Opcode::kConcatenate, kExact, FlattenSizes},
    {"slice-of-concatenate", Opcode::kSlice, kExact, SliceOfSizes},
    {"reshape-of-broadcast", Opcode::kReshape, kExact, SizeOfBroadcast},
    {"reshape-of-reshape", Opcode::kReshape, kExact, SizeBackAgain},
    {"convert-of-itself", Opcode::kConvert, kExact, DropConvert},
    {"reshape-of-itself", Opcode::kReshape, kExact, DropReshape},
};

}  // namespace

DynamicDimensionSimplifier::DynamicDimensionSimplifier() : RewritePass(this, kDimensionRules) {}

HLO_DEFINE_PASS(DynamicDimensionSimplifier)

}  // namespace hlo
