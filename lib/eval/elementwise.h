// lib/eval/elementwise.h
//
// An elementwise instruction made ready to run over arrays: opcode, element types and attributes
// are resolved to a kernel and to conversions of narrow floats once, then Run() loops.
//
// Operands and result are arrays of elements as they lie in literals. Floats narrower than f32 are
// widened in blocks, computed, and rounded once. Integers become narrow floats in one rounding; f64
// becomes f16 or bf16 through f32.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/eval/kernel.h"
#include "lib/ir/instruction.h"

namespace hlo {

// Reads or writes `count` elements of a narrow type as the compute type.
using Codec = void (*)(const uint8_t* from, int64_t count, uint8_t* to);

// The compute representation of a type: f32 for narrower floats, itself for the others.
ElementType ComputeType(ElementType type);
// Null when the elements already are in the form `compute`.
Codec FindLoad(ElementType type, ElementType compute);
// From f32 or f64; null when `type` is `compute`.
Codec FindStore(ElementType compute, ElementType type);

class ElementwiseOp {
 public:
  static constexpr int kMaxArity = 3;

  // Whether the opcode is one that Make takes (the types may still be refused).
  static bool Takes(Opcode opcode);
  // Opcodes with the trait kElementwise, and copy, bitcast-convert of equal width, and
  // stochastic-convert.
  static absl::StatusOr<ElementwiseOp> Make(const Instruction& instruction);
  // Without attributes: `operands` are the types of the operands.
  static absl::StatusOr<ElementwiseOp> Make(Opcode opcode, absl::Span<const ElementType> operands,
                                            ElementType result);
  static ElementwiseOp Convert(ElementType from, ElementType to);
  // `order` counts for floats. Complex numbers are only equal or not.
  static absl::StatusOr<ElementwiseOp> Compare(ComparisonDirection direction, ComparisonType order,
                                               ElementType type);
  static ElementwiseOp ReducePrecision(ElementType type, int64_t exponent_bits,
                                       int64_t mantissa_bits);
  // Of types of one width.
  static ElementwiseOp BitcastConvert(ElementType from, ElementType to);

  int arity() const { return arity_; }
  ElementType result_type() const { return result_; }

  // out[i] = op(in[0][i], …) for i < count. `out` may be one of the inputs if their element sizes
  // are equal.
  void Run(const uint8_t* const* in, uint8_t* out, int64_t count) const;

 private:
  void RunBlocks(const uint8_t* const* in, uint8_t* out, int64_t count) const;
  void SetLoads(ElementType compute);

  ElementwiseKernel kernel_ = nullptr;
  int arity_ = 0;
  int bits_ = 0;
  ElementType result_ = ElementType::kF32;
  ElementType operands_[kMaxArity] = {};
  Codec loads_[kMaxArity] = {};
  Codec store_ = nullptr;
  bool plain_ = true;  // no codec at all
};

}  // namespace hlo
