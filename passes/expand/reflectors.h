// Householder reflectors H = I - tau v vᴴ over batches of matrices, as LAPACK has them: reflector j
// of a factorization is 0 above row j and 1 in row j; below lies column j of the packed matrix.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// Packed reflectors [batch…, m, n] and their factors [batch…, 1, min(m, n)].
struct PackedReflectors {
  Instruction* packed = nullptr;
  Instruction* taus = nullptr;
};

// a = H₀ H₁ … R, column by column in a loop: R is in the upper triangle of the packed matrix.
absl::StatusOr<PackedReflectors> ReduceColumns(Builder& builder, Instruction* a,
                                               const Instruction* origin);

// H₀ H₁ … H₍ₖ₋₁₎ = I - V T Vᴴ, with T upper triangular.
struct BlockReflector {
  Instruction* vectors = nullptr;  // V[batch…, m, k]
  Instruction* factor = nullptr;   // T[batch…, k, k]
};
absl::StatusOr<BlockReflector> MakeBlockReflector(Builder& builder, PackedReflectors reflectors,
                                                  const Instruction* origin);

// The product of the reflectors, or its adjoint, times `x`.
enum class Adjoint { kNo, kYes };
Instruction* Apply(Builder& builder, const BlockReflector& block, Adjoint adjoint, Instruction* x);

}  // namespace hlo
