// Comparison of a result with an expected value: absolute and relative tolerance, ULPs, and a
// report of what differs.
#pragma once

#include <string>
#include <vector>

#include "lib/types/literal.h"

namespace hlo {

// How values that are no numbers are compared: they must be equal; one of either side agrees with
// all values of the other; none agrees with anything.
enum class SpecialValues : uint8_t { kEqual, kAny, kError };

// An element passes if |a-e| <= abs + rel*|e|, or if it is within `ulps` units in the last place of
// its type. NaN equals NaN (any payload), infinities must be equal, unless said otherwise. Integers
// and pred must be equal unless abs >= 1.
struct Tolerance {
  double abs = 0;
  double rel = 0;
  int64_t ulps = 0;
  SpecialValues nans = SpecialValues::kEqual;
  SpecialValues infinities = SpecialValues::kEqual;
};

struct Mismatch {
  ShapeIndex leaf;
  int64_t linear = 0;
  DimVec index;
  std::string actual;
  std::string expected;
  double abs_error = 0;
  double rel_error = 0;
  double ulp_error = 0;
};

struct CompareReport {
  int64_t compared = 0;
  int64_t nans = 0;  // of them, NaN on both sides
  int64_t of = 0;    // elements of the array when `compared` is a sample of them; 0: all
  int64_t mismatched = 0;
  std::vector<Mismatch> worst;  // up to `max_reported`, largest relative error first
  Mismatch first;               // first in index order, when mismatched > 0
  std::vector<int64_t> places;  // linear indices of the first mismatches, if this is one array
  double max_abs_error = 0;
  double max_rel_error = 0;
  std::string shape_error;  // shapes differ: nothing was compared
  bool ok() const { return mismatched == 0 && shape_error.empty(); }
  // A few lines: counts, first mismatch with index, actual and expected, worst ones.
  std::string ToString() const;
};

CompareReport Compare(const Literal& actual, const Literal& expected, const Tolerance& tolerance,
                      int max_reported = 5);

}  // namespace hlo
