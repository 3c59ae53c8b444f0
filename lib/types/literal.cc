// lib/types/literal.cc
//
// Making literals, single elements, equality and hashing. Whole-array operations are in
// literal_util.cc, text in literal_print.cc.
#include "lib/types/literal.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/support/check.h"
#include "lib/support/hash.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

// The smallest or the largest value of a type, infinities included.
template <class T>
T Extreme(bool largest) {
  if constexpr (requires(T value) { value.bits; }) {
    if constexpr (T::kHasInf) {
      T infinity = T::Infinity();
      if (!largest) infinity = T::FromDouble(-std::numeric_limits<double>::infinity());
      return infinity;
    } else {
      return largest ? T::Max() : T::Lowest();
    }
  } else if constexpr (requires(T value) { T::kWidth; }) {
    constexpr int kHigh = (1 << (T::kWidth - (T::kSignedness ? 1 : 0))) - 1;
    return T::Wrap(largest ? kHigh : T::kSignedness ? -kHigh - 1 : 0);
  } else if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity();
    return largest ? infinity : -infinity;
  } else if constexpr (std::is_integral_v<T>) {
    return largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  } else {
    return T();  // complex: excluded by the callers
  }
}

Literal ExtremeValue(ElementType type, bool largest) {
  HLO_CHECK(IsArrayType(type) && !IsComplex(type));
  Literal literal(Shape::Scalar(type));
  WithNativeType(type, [&]<class T>() { literal.mutable_values<T>()[0] = Extreme<T>(largest); });
  return literal;
}

}  // namespace

Literal::Literal(Shape shape) : shape_(shape) {
  if (shape.IsTuple()) {
    elements_.reserve(shape.elements().size());
    for (const Shape element : shape.elements()) elements_.emplace_back(element);
  } else if (shape.IsArray()) {
    buffer_ = std::make_shared<std::vector<uint8_t>>(shape.byte_size());
  }
}

Literal Literal::Elided(Shape shape) {
  Literal literal;
  literal.shape_ = shape;
  literal.elided_ = true;
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (const Literal& element : elements) shapes.push_back(element.shape());
  Literal literal;
  literal.shape_ = Shape::Tuple(shapes);
  literal.elements_ = std::move(elements);
  return literal;
}

Literal Literal::Token() { return Literal(Shape::Token()); }

Literal Literal::Filled(Shape shape, double value) {
  Literal literal(shape);
  const int64_t count = shape.element_count();
  const int size = ByteSize(shape.element_type());
  if (count == 0) return literal;
  uint8_t* bytes = literal.mutable_data();
  WriteDoubles(shape.element_type(), &value, 1, bytes);
  for (int64_t done = 1; done < count;) {  // doubling copies
    const int64_t step = std::min(done, count - done);
    std::memcpy(bytes + done * size, bytes, step * size);
    done += step;
  }
  return literal;
}

// What keeps every value it is multiplied by: of s1, which has no 1, the value with the bits of 1.
Literal Literal::One(ElementType type) {
  if (IsInteger(type)) return Scalar(type, int64_t{1});
  return Filled(Shape::Scalar(type), 1);
}
Literal Literal::MinValue(ElementType type) { return ExtremeValue(type, /*largest=*/false); }
Literal Literal::MaxValue(ElementType type) { return ExtremeValue(type, /*largest=*/true); }

uint8_t* Literal::mutable_data() {
  HLO_DCHECK(!elided_);
  if (buffer_ == nullptr) return nullptr;
  if (buffer_.use_count() > 1) buffer_ = std::make_shared<std::vector<uint8_t>>(*buffer_);
  return buffer_->data();
}

double Literal::GetDouble(int64_t linear) const {
  double value;
  ReadDoubles(element_type(), data() + linear * ByteSize(element_type()), 1, &value);
  return value;
}

int64_t Literal::GetInt(int64_t linear) const {
  int64_t value;
  ReadInts(element_type(), data() + linear * ByteSize(element_type()), 1, &value);
  return value;
}

std::complex<double> Literal::GetComplex(int64_t linear) const {
  std::complex<double> value;
  ReadComplexes(element_type(), data() + linear * ByteSize(element_type()), 1, &value);
  return value;
}

void Literal::SetDouble(int64_t linear, double value) {
  WriteDoubles(element_type(), &value, 1, mutable_data() + linear * ByteSize(element_type()));
}

void Literal::SetInt(int64_t linear, int64_t value) {
  WriteInts(element_type(), &value, 1, /*is_unsigned=*/false,
            mutable_data() + linear * ByteSize(element_type()));
}

void Literal::SetComplex(int64_t linear, std::complex<double> value) {
  WriteComplexes(element_type(), &value, 1, mutable_data() + linear * ByteSize(element_type()));
}

const Literal& Literal::Sub(const ShapeIndex& index) const {
  const Literal* literal = this;
  for (const int64_t i : index) literal = &literal->elements_[i];
  return *literal;
}

bool Literal::IsAll(double value) const {
  if (!shape_.IsArray() || elided_ || element_count() == 0) return false;
  const Literal wanted = Filled(Shape::Scalar(element_type()), value);
  // A value that the type does not have is nowhere; neither is NaN, which has many bit patterns.
  if (std::bit_cast<uint64_t>(wanted.GetDouble()) != std::bit_cast<uint64_t>(value)) return false;
  if (std::isnan(value)) return false;
  return std::memcmp(data(), wanted.data(), ByteSize(element_type())) == 0 && IsUniform();
}

bool Literal::IsUniform() const {
  if (!shape_.IsArray() || elided_ || element_count() == 0) return false;
  const int size = ByteSize(element_type());
  return std::memcmp(data(), data() + size, byte_size() - size) == 0;
}

bool Literal::IsZeroBits(int64_t linear) const {
  const int size = ByteSize(element_type());
  const uint8_t* bytes = data() + linear * size;
  for (int i = 0; i < size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

bool operator==(const Literal& a, const Literal& b) {
  if (&a == &b) return true;
  if (a.elided_ || b.elided_ || !Compatible(a.shape_, b.shape_)) return false;
  if (a.buffer_ != b.buffer_) {
    if (a.buffer_ == nullptr || b.buffer_ == nullptr) return false;
    if (*a.buffer_ != *b.buffer_) return false;
  }
  return a.elements_ == b.elements_;
}

uint64_t Literal::Hash() const {
  uint64_t h = HashMix(shape_.WithoutLayout().Hash(), elided_ ? 1 : 0);
  for (const Literal& element : elements_) h = HashMix(h, element.Hash());
  if (buffer_ == nullptr) return h;
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_->data()), buffer_->size());
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = HashMix(h, word);
  }
  return HashBytes(bytes.substr(i), h);
}

}  // namespace hlo
