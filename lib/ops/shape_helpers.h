// What the shape rules share: dimension lists under construction, comparisons in the sense of
// "compatible", called computations. Private to lib/ops.
#pragma once

#include <initializer_list>
#include <string>

#include "lib/ops/shape_rules.h"
#include "lib/support/contains.h"

namespace hlo {

// Dimensions of a result under construction, each with its dynamism.
class DimList {
 public:
  void Add(int64_t size, bool dynamic = false) {
    sizes_.push_back(size);
    dynamic_.push_back(dynamic || size == Shape::kUnbounded);
  }
  // Dimension `d` of `shape`.
  void Add(Shape shape, int64_t d) {
    Add(shape.dim(static_cast<int>(d)), shape.is_dynamic(static_cast<int>(d)));
  }
  // All dimensions of `shape`.
  void AddAll(Shape shape) {
    for (int d = 0; d < shape.rank(); ++d) Add(shape, d);
  }
  int rank() const { return static_cast<int>(sizes_.size()); }
  // The array with these dimensions, row-major.
  Shape ToShape(ElementType type) const {
    return Shape::Array(type, sizes_, absl::MakeConstSpan(dynamic_.data(), dynamic_.size()));
  }

 private:
  DimVec sizes_;
  absl::InlinedVector<bool, 6> dynamic_;
};

// The type that wins when two precisions meet: complex over real, then more range, more mantissa,
// more bits, signed.
ElementType HigherPrecision(ElementType a, ElementType b);
// Equal, or both floats.
inline bool SameTypeUpToFloatWidth(ElementType a, ElementType b) {
  return a == b || (IsFloat(a) && IsFloat(b));
}
// Sizes that may be the same: equal, or one is unbounded.
inline bool SameSize(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}
// Arrays of equal rank and sizes; dynamism and layout may differ.
bool SameSizes(Shape a, Shape b);
// Same tuple tree, types and sizes; dynamism and layouts may differ.
bool Matches(Shape a, Shape b);
// As Matches, all floats being equal.
bool MatchesUpToFloatWidth(Shape a, Shape b);
// `shape`, dynamic also where `other` has a bounded dimension.
Shape MergeDynamic(Shape shape, Shape other);

// Which dimensions some lists name; to be asked for all of them.
class NamedDims {
 public:
  // The lists name dimensions below `rank`.
  NamedDims(int rank, std::initializer_list<const DimVec*> lists)
      : named_(static_cast<size_t>(rank), false) {
    for (const DimVec* list : lists) {
      for (const int64_t dim : *list) named_[static_cast<size_t>(dim)] = true;
    }
  }
  bool operator[](int dim) const { return named_[static_cast<size_t>(dim)]; }

 private:
  absl::InlinedVector<bool, 64> named_;
};

// The declared shape if it agrees with what the rule found, else an error. Nothing declared:
// `expected`. A declared float of another width gives `expected` in the declared layout, so that
// the caller sees the difference.
absl::StatusOr<Shape> AgreeWithDeclared(const ShapeArgs& args, Shape expected);
// Called computation i; an error if it is missing.
absl::StatusOr<const Signature*> Callee(const ShapeArgs& args, size_t i);
// "the `to_apply` computation `sum`"
std::string CalleeName(const ShapeArgs& args, size_t i);
// Error unless the called computation has `count` parameters.
absl::Status CheckParameterCount(const ShapeArgs& args, size_t callee, size_t count);
// Element type of dot's and convolution's result: the declared one, which may be any, else the
// wider of the operands'.
ElementType ContractionType(const ShapeArgs& args);
// Error unless operand `i` is a token.
absl::Status CheckToken(const ShapeArgs& args, int i);
// Error unless `dims` ascends strictly.
absl::Status CheckAscending(const ShapeArgs& args, std::string_view what, const DimVec& dims);

}  // namespace hlo
