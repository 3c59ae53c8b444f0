// backends/cpu/families/affine.h
//
// Indices of array elements as sums of loop variables: constant + Σ coefficient * variable. Kept
// symbolic until an address is needed, so that chains of transpose, slice, reverse, broadcast and
// reshape fold into one address.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace hlo::cpu {

struct Term {
  int32_t variable = 0;
  int64_t coefficient = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

struct Affine {
  int64_t constant = 0;
  absl::InlinedVector<Term, 2> terms;  // sorted by variable, no zero coefficients

  static Affine Constant(int64_t value);
  static Affine Variable(int32_t variable, int64_t coefficient = 1);
  bool IsConstant() const { return terms.empty(); }
  int64_t CoefficientOf(int32_t variable) const;
  // this += scale * other
  void Add(const Affine& other, int64_t scale = 1);
  friend bool operator==(const Affine& a, const Affine& b) {
    return a.constant == b.constant && a.terms == b.terms;
  }
};

// One entry per dimension.
using Index = absl::InlinedVector<Affine, 4>;

// The row-major linear index of `index` in an array of `dims`.
Affine Linear(const Index& index, absl::Span<const int64_t> dims);

}  // namespace hlo::cpu
