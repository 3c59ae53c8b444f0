// The type of a value: array, tuple, token, opaque or buffer. A Shape is an immutable value of 8
// bytes; equal shapes share one interned node, so equality is a pointer comparison. `With…` members
// make new shapes.
//
// Array dimensions may be dynamic: `<=N` (bounded: dim() is the bound) or `?` (unbounded: dim() is
// kUnbounded). A layout may be absent (text read without filling). Buffers `b(f32[8])` have the
// array shape as element 0.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "lib/types/layout.h"

namespace hlo {

class Shape;

namespace internal {
struct ShapeNode;
}

class Shape {
 public:
  static constexpr int64_t kUnbounded = INT64_MIN;

  // The empty tuple.
  Shape();

  // An array with the row-major layout.
  static Shape Array(ElementType type, absl::Span<const int64_t> dims);
  static Shape Array(ElementType type, absl::Span<const int64_t> dims,
                     absl::Span<const bool> dynamic);
  static Shape Scalar(ElementType type) { return Array(type, {}); }
  static Shape Tuple(absl::Span<const Shape> elements);
  static Shape Token();
  static Shape Opaque();
  static Shape Buffer(Shape array);

  ElementType element_type() const;  // kTuple, kToken, kOpaque, kBuffer for those
  bool IsArray() const { return IsArrayType(element_type()); }
  bool IsTuple() const { return element_type() == ElementType::kTuple; }
  bool IsToken() const { return element_type() == ElementType::kToken; }
  bool IsOpaque() const { return element_type() == ElementType::kOpaque; }
  bool IsBuffer() const { return element_type() == ElementType::kBuffer; }

  // Arrays.
  int rank() const;
  absl::Span<const int64_t> dims() const;
  int64_t dim(int i) const { return dims()[i]; }
  bool is_dynamic(int i) const;   // bounded or unbounded
  bool has_dynamic_dims() const;  // any, also inside tuples
  bool IsScalar() const { return IsArray() && rank() == 0; }
  bool IsScalarOf(ElementType type) const { return element_type() == type && rank() == 0; }
  bool IsEffectiveScalar() const;  // array with one element
  bool IsZeroSized() const;        // array with no element
  // Number of elements (bounds for dynamic dimensions); unbounded counts as 0.
  int64_t element_count() const;
  // Bytes of the array in memory, one value per ByteSize(element_type()) bytes; tuples: 0.
  int64_t byte_size() const { return element_count() * ByteSize(element_type()); }
  bool has_layout() const;
  const Layout& layout() const;          // requires has_layout()
  const Layout* layout_or_null() const;  // scalars always have one, non-arrays never

  // Tuples (and the one element of a buffer).
  absl::Span<const Shape> elements() const;
  const Shape& element(int i) const { return elements()[i]; }
  int element_count_of_tuple() const { return static_cast<int>(elements().size()); }

  // Array shapes with one thing changed. Layouts survive where the rank does.
  Shape WithElementType(ElementType type) const;
  Shape WithDimensions(absl::Span<const int64_t> dims) const;  // static, row-major
  Shape WithDim(int i, int64_t size) const;                    // keeps dynamism and layout
  Shape WithSizes(absl::Span<const int64_t> sizes) const;      // likewise
  Shape WithDynamic(int i, bool dynamic) const;
  Shape WithLayout(const Layout& layout) const;
  Shape WithoutLayout() const;             // recursively
  Shape WithDefaultLayout() const;         // row-major, recursively
  Shape WithMissingLayoutsFilled() const;  // row-major where absent, recursively
  Shape WithElement(int i, Shape element) const;
  Shape WithoutDynamic() const;  // bounds become sizes, recursively

  // "f32[2,3]{1,0}"; with_layout=false: "f32[2,3]".
  std::string ToString(bool with_layout = true) const;
  void AppendTo(std::string& out, bool with_layout = true) const;
  // The same text without a copy; it lives as long as the process.
  std::string_view Text(bool with_layout = true) const;
  uint64_t Hash() const;  // deterministic across processes

  friend bool operator==(Shape a, Shape b) { return a.node_ == b.node_; }

 private:
  explicit Shape(const internal::ShapeNode* node) : node_(node) {}
  const internal::ShapeNode* node_;
  friend struct internal::ShapeNode;
};

// Equal but for layouts.
bool Compatible(Shape a, Shape b);
// Arrays with equal dimensions; element types and layouts may differ.
bool SameDimensions(Shape a, Shape b);
// Equal up to dynamism: dynamic dimensions match any size.
bool CompatibleIgnoringDynamic(Shape a, Shape b);
// Equal but for layouts and whether a size is a bound.
bool CompatibleUpToBounds(Shape a, Shape b);

// "f32[2]" for fmt: fmt::format("{}", shape) prints without layout, "{:l}" with.
}  // namespace hlo

template <>
struct fmt::formatter<hlo::Shape> {
  bool with_layout = false;
  constexpr auto parse(fmt::format_parse_context& ctx) {
    auto it = ctx.begin();
    if (it != ctx.end() && *it == 'l') {
      with_layout = true;
      ++it;
    }
    return it;
  }
  template <class Context>
  auto format(hlo::Shape shape, Context& ctx) const {
    return fmt::format_to(ctx.out(), "{}", shape.Text(with_layout));
  }
};

template <>
struct std::hash<hlo::Shape> {
  size_t operator()(hlo::Shape shape) const { return shape.Hash(); }
};
