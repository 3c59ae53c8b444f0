// Layer normalisations in plain HLO.
//
//   mean     = multiply(reduce(x), broadcast(1/n))        n features are added up
//   centred  = subtract(x, broadcast(mean))
//   variance = mean of centred², or mean of x² less mean²
//   factor   = rsqrt(add(variance, broadcast(epsilon)))
//   y        = centred · broadcast(factor) · broadcast(scale) + broadcast(bias)
//
// Products and sums stand in any order; x and the mean may be multiplied before one is subtracted
// from the other. Between any two operations there may be conversions of floats and reshapes that
// add or remove dimensions of size 1: dimensions are counted without these here.
#pragma once

#include <optional>

#include "lib/ir/module.h"

namespace hlo {

// The dimensions of more than one element: how many elements they have, which of them are features
// (normalised together) and which are rows.
struct NormDims {
  DimVec sizes;
  DimVec features;
  DimVec rows;
  friend bool operator==(const NormDims&, const NormDims&) = default;
};

struct LayerNorm {
  Instruction* x = nullptr;
  NormDims dims;
  DimVec summed;  // dimensions of x that its mean adds up, those of one element where it says them
  Instruction* mean = nullptr;
  Instruction* variance = nullptr;
  Instruction* factor = nullptr;  // the rsqrt
  double epsilon = 0;
  Instruction* scale = nullptr;  // before they are broadcast
  Instruction* bias = nullptr;
};

// What `y`, an addition or subtraction, is the last operation of.
std::optional<LayerNorm> FindLayerNorm(Instruction* y);

// Whether `x` is variance + epsilon of `norm`.
bool IsVarianceAndEpsilon(const LayerNorm& norm, Instruction* x);

// ---- parts, also of gradients ----

bool IsNormType(ElementType type);

// What stands before conversions and reshapes that change no dimension of more than one element.
Instruction* Plain(Instruction* x);
// Of one number for each row: what stands before its broadcast to all elements, too.
Instruction* PlainRows(Instruction* x, const NormDims& dims);
// What is broadcast to all rows, one number for each feature; null where `x` is no such broadcast.
Instruction* FeaturesOf(Instruction* x, const NormDims& dims);

// The sizes of dimensions of more than one element, and which of these `dims` are, in order.
DimVec SizesAboveOne(Shape shape);
DimVec DimsAboveOne(Shape shape, const DimVec& dims);

// Whether `x` adds up elements, beginning with 0.
bool IsSum(const Instruction& x);
// The number that all elements of `x` are.
std::optional<double> NumberOf(Instruction* x);
// Whether `value` is `wanted`, but that so many numbers of the type were rounded for it.
bool IsRoundedFrom(double value, double wanted, ElementType type, int roundings = 1);

// The operands of a product of three, or a sum of three, in the two ways it can be read.
std::vector<std::array<Instruction*, 3>> ThreeOperands(Instruction* x, Opcode opcode);

}  // namespace hlo
