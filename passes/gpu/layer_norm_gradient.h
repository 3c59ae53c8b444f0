// Gradients of layer normalisations that are calls already.
//
//   f1 = centred · broadcast(-1/n · factor³ · sum over features(centred · scale · dy))
//   f2 = factor · scale · dy
//   dx = f1 + f2 + broadcast(-1/n · (sum over features(f1) + sum over features(f2)))
//   dscale = sum over rows(dy · centred · factor)
//   dbias = sum over rows(dy)
//
// where centred = x - broadcast(mean); mean and factor are what the call yields. Constants and
// signs may stand anywhere in a product.
#pragma once

#include <span>

#include "passes/gpu/layer_norm_pattern.h"

namespace hlo {

// A normalisation that yields its mean and factor.
struct NormCall {
  Instruction* call;
  Instruction* x;  // as before the call takes it in its own shape
  Instruction* scale;
  NormDims dims;
  DimVec order;       // of the dimensions of x, rows before features
  Instruction* mean;  // in the shapes in which they are read
  Instruction* factor;
};

struct LayerNormGradient {
  const NormCall* of;
  Instruction* dy;
  Instruction* dscale;
  Instruction* dbias;  // null: nobody computes it
};

// What `dx`, an addition, is the last operation of.
std::optional<LayerNormGradient> FindLayerNormGradient(Instruction* dx,
                                                       std::span<const NormCall> calls);

}  // namespace hlo
