// A value: shape + data. Array data are dense, row-major in logical order whatever the layout says
// (the layout is only carried along in shape()), one value per ByteSize(element_type) bytes
// (element_type.h). Copies share the data; it is copied on the first write. Tuples hold literals.
// Tokens hold nothing.
//
// An elided literal stands for `constant({...})`: it has a shape but no data (`is_elided()`);
// nothing may read it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/shape.h"
#include "lib/types/shape_util.h"

namespace hlo {

class Literal {
 public:
  // The empty tuple.
  Literal() = default;
  // Zero-filled (recursively for tuples).
  explicit Literal(Shape shape);
  static Literal Elided(Shape shape);
  static Literal Tuple(std::vector<Literal> elements);
  static Literal Token();
  template <class T>
  static Literal Scalar(ElementType type, T value);
  // Array from row-major values.
  template <class T>
  static Literal Array(Shape shape, absl::Span<const T> values);
  // Every element `value`, converted as SetDouble does.
  static Literal Filled(Shape shape, double value);
  static Literal Zero(ElementType type) { return Literal(Shape::Scalar(type)); }
  static Literal One(ElementType type);
  static Literal MinValue(ElementType type);  // -inf where there is one, else lowest finite
  static Literal MaxValue(ElementType type);

  Shape shape() const { return shape_; }
  ElementType element_type() const { return shape_.element_type(); }
  int64_t element_count() const { return shape_.element_count(); }
  bool is_elided() const { return elided_; }

  // Raw bytes in row-major order.
  const uint8_t* data() const { return buffer_ == nullptr ? nullptr : buffer_->data(); }
  uint8_t* mutable_data();  // un-shares
  int64_t byte_size() const { return shape_.IsArray() ? shape_.byte_size() : 0; }
  template <class T>
  absl::Span<const T> values() const {
    return {reinterpret_cast<const T*>(data()), static_cast<size_t>(element_count())};
  }
  template <class T>
  absl::Span<T> mutable_values() {
    return {reinterpret_cast<T*>(mutable_data()), static_cast<size_t>(element_count())};
  }
  template <class T>
  T Get(absl::Span<const int64_t> index) const {
    return values<T>()[LinearIndex(index, shape_.dims())];
  }

  // One element (row-major linear index) widened: exact for every type but 64-bit integers beyond
  // 2^53 (GetInt) and complex (GetComplex).
  double GetDouble(int64_t linear = 0) const;
  int64_t GetInt(int64_t linear = 0) const;  // integers and pred; u64 as its bit pattern
  std::complex<double> GetComplex(int64_t linear = 0) const;
  // Rounded once / wrapped into the element type.
  void SetDouble(int64_t linear, double value);
  void SetInt(int64_t linear, int64_t value);
  void SetComplex(int64_t linear, std::complex<double> value);

  // Tuples.
  const std::vector<Literal>& elements() const { return elements_; }
  const Literal& element(int i) const { return elements_[i]; }
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& Sub(const ShapeIndex& index) const;

  // All elements are this value (never true for zero-size or elided literals; -0 is not 0).
  bool IsAll(double value) const;
  bool IsAllOnes() const { return IsAll(1); }
  // All elements have the bits of the first one.
  bool IsUniform() const;
  bool IsZeroBits(int64_t linear) const;

  // Same elements, other shape of equal element count and type (layout of `shape` taken).
  Literal Reshaped(Shape shape) const;
  Literal WithShapeLayout(Shape shape) const { return Reshaped(shape); }
  // Element-wise `convert` of HLO (op_semantics: truncation, saturation, single rounding).
  absl::StatusOr<Literal> Converted(ElementType type) const;
  Literal Transposed(absl::Span<const int64_t> permutation) const;
  Literal Slice(absl::Span<const int64_t> starts, absl::Span<const int64_t> limits,
                absl::Span<const int64_t> strides) const;
  Literal Broadcast(Shape shape, absl::Span<const int64_t> dimensions) const;
  // Scalar literal of one element.
  Literal ElementAt(int64_t linear) const;

  // Bits equal (shapes without layouts, data, recursively). Two elided literals are equal only if
  // they are the same object.
  friend bool operator==(const Literal& a, const Literal& b);
  uint64_t Hash() const;

  // XLA's one-line text form without the shape: "{ {1, 2}, {3, 4} }". `max_elements` < 0:
  // everything; arrays with more elements become "{...}".
  std::string ToString(int64_t max_elements = -1) const;
  void AppendTo(std::string& out, int64_t max_elements = -1) const;

 private:
  Shape shape_;
  std::shared_ptr<std::vector<uint8_t>> buffer_;
  std::vector<Literal> elements_;
  bool elided_ = false;
};

// Text of one scalar as in literals ("1.5", "-inf", "nan(0x1)", "true" outside arrays); `in_array`
// prints pred as 0/1.
void AppendScalar(const Literal& literal, int64_t linear, bool in_array, std::string& out);

// ---- templates ----
template <class T>
Literal Literal::Array(Shape shape, absl::Span<const T> values) {
  Literal literal(shape);
  std::copy(values.begin(), values.end(), literal.mutable_values<T>().begin());
  return literal;
}

template <class T>
Literal Literal::Scalar(ElementType type, T value) {
  Literal literal{Shape::Scalar(type)};
  if constexpr (std::is_integral_v<T>) {
    literal.SetInt(0, static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    literal.SetDouble(0, static_cast<double>(value));
  } else {
    literal.SetComplex(0, value);
  }
  return literal;
}

}  // namespace hlo
