// lib/linalg/targets.h
//
// The one table of the custom calls that are linear algebra: what each takes and gives, and what
// computes it.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "lib/linalg/job.h"
#include "lib/types/element_type.h"

namespace hlo::linalg {

struct Target {
  // As it stands in the call; `?` is the letter of the element type.
  std::string_view name;
  // Letters of element types: s d c z (f32, f64, c64, c128), i l (s32, s64).
  std::string_view types;
  // Arrays, without the dimensions of the batch: T[m,n] has the element type of the call, R its
  // component, C its complex type, I is s32, J s32 or s64. A letter is a size:
  //   k  min(m, n)                      p  n - 1, but not less than 0
  //   t  m, or n for side R             q  m, or n for left = false
  //   a  m + 1                          u, v  m, n for mode A, k for S, anything for N
  // and any other one is whatever it is where it first stands.
  std::string_view operands;
  std::string_view results;
  // Each with its letters, or `b` for a boolean, or `i` for a number in 1…n.
  std::string_view attributes;
  // Sizes that must not exceed others: "r<=k".
  std::string_view limits;
  std::string_view routine;  // LAPACK's name; empty: none is needed
  RoutinesByType lapack;
  RoutinesByType own;
  // Where there are both: the largest m or n on which ours is faster; half of it for
  // complex numbers.
  int64_t own_up_to;
};

absl::Span<const Target> Targets();

// The rows for a target as it stands in a call (two where a result may be of two forms).
absl::Span<const Target> FindTarget(std::string_view name);

// The element type of a letter.
ElementType TypeOfLetter(char letter);
// The letter that stands for `?` in `name`; 0 where there is none.
char TypeLetter(const Target& target, std::string_view name);

}  // namespace hlo::linalg
