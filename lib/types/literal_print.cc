// lib/types/literal_print.cc
//
// Text of literals: one line, in logical order, numbers as XLA writes them.
#include <bit>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "lib/support/saturate.h"
#include "lib/types/append.h"
#include "lib/types/format_float.h"
#include "lib/types/literal.h"

namespace hlo {
namespace {

using AppendElement = void (*)(const uint8_t* data, int64_t linear, std::string& out);

// Significant digits of printed floats; f32 and f64 have a rule of their own (format_float.h).
constexpr int Digits(ElementType type) {
  switch (type) {
    case ElementType::kF16: return 5;
    case ElementType::kBF16: return 4;
    case ElementType::kF8E5M2:
    case ElementType::kF8E5M2FNUZ:
    case ElementType::kF8E8M0FNU:
    case ElementType::kF4E2M1FN:
    case ElementType::kF6E3M2FN: return 2;
    case ElementType::kF8E3M4:
    case ElementType::kF8E4M3:
    case ElementType::kF8E4M3FN:
    case ElementType::kF8E4M3FNUZ:
    case ElementType::kF8E4M3B11FNUZ:
    case ElementType::kF6E2M3FN: return 3;
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kPred:
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
    case ElementType::kS16:
    case ElementType::kS32:
    case ElementType::kS64:
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
    case ElementType::kC64:
    case ElementType::kC128:
    case ElementType::kTuple:
    case ElementType::kOpaque:
    case ElementType::kToken:
    case ElementType::kBuffer: return 0;
  }
  return 0;
}

// `payload` is the mantissa field; plain `nan` stands for the quiet bit alone. Types without
// payloads pass 0 for both.
void AppendNan(bool negative, uint64_t payload, uint64_t quiet_bit, std::string& out) {
  out += negative ? "-nan" : "nan";
  if (payload == quiet_bit) return;
  char buffer[20];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), payload, 16);
  out += "(0x";
  out.append(buffer, end.ptr - buffer);
  out += ')';
}

template <class T>
void AppendWide(T value, std::string& out) {
  using Bits = typename WideFloat<T>::Bits;
  const auto pattern = std::bit_cast<Bits>(value);
  const bool negative = (pattern >> (8 * sizeof(T) - 1)) != 0;
  if (std::isnan(value)) {
    constexpr Bits kQuiet = Bits(1) << (WideFloat<T>::kMantissaBits - 1);
    AppendNan(negative, pattern & (2 * kQuiet - 1), kQuiet, out);
  } else if (std::isinf(value)) {
    out += negative ? "-inf" : "inf";
  } else {
    AppendRoundTrip(value, out);
  }
}

template <class T>
void AppendNarrow(T value, int digits, std::string& out) {
  if (value.IsNan()) {
    constexpr bool kHasPayload = T::kFlavor == FloatFlavor::kIeee;
    constexpr uint64_t kQuiet = kHasPayload ? uint64_t{1} << (T::kMantissaBits - 1) : 0;
    const uint64_t payload = kHasPayload ? value.bits & (2 * kQuiet - 1) : 0;
    return AppendNan(value.SignBit(), payload, kQuiet, out);
  }
  if (value.IsInf()) {
    out += value.SignBit() ? "-inf" : "inf";
    return;
  }
  AppendGeneral(value.ToDouble(), digits, out);
}

template <ElementType kType>
void AppendValue(const uint8_t* data, int64_t linear, std::string& out) {
  using T = Native<kType>;
  const T value = reinterpret_cast<const T*>(data)[linear];
  if constexpr (kType == ElementType::kPred) {
    out += value ? '1' : '0';
  } else if constexpr (IsComplex(kType)) {
    out += '(';
    AppendWide(value.real(), out);
    out += ", ";
    AppendWide(value.imag(), out);
    out += ')';
  } else if constexpr (kType == ElementType::kF32 || kType == ElementType::kF64) {
    AppendWide(value, out);
  } else if constexpr (IsFloat(kType)) {
    AppendNarrow(value, Digits(kType), out);
  } else if constexpr (IsSubByte(kType)) {
    AppendInt(static_cast<int>(value.value), out);
  } else if constexpr (sizeof(T) < 4) {
    AppendInt(static_cast<int>(value), out);
  } else {
    AppendInt(value, out);
  }
}

AppendElement AppenderOf(ElementType type) {
  switch (type) {
#define HLO_APPENDER(Name)   \
  case ElementType::k##Name: \
    return AppendValue<ElementType::k##Name>;
#define HLO_APPENDER_kPred(Name) HLO_APPENDER(Name)
#define HLO_APPENDER_kSigned(Name) HLO_APPENDER(Name)
#define HLO_APPENDER_kUnsigned(Name) HLO_APPENDER(Name)
#define HLO_APPENDER_kFloat(Name) HLO_APPENDER(Name)
#define HLO_APPENDER_kComplex(Name) HLO_APPENDER(Name)
#define HLO_APPENDER_kOther(Name) \
  case ElementType::k##Name:      \
    return nullptr;
#define HLO_TYPE(Name, text, bits, cls, proto, native) HLO_APPENDER_##cls(Name)
#include "lib/types/element_types.def"
#undef HLO_APPENDER_kPred
#undef HLO_APPENDER_kSigned
#undef HLO_APPENDER_kUnsigned
#undef HLO_APPENDER_kFloat
#undef HLO_APPENDER_kComplex
#undef HLO_APPENDER_kOther
#undef HLO_APPENDER
  }
  return nullptr;
}

// Prints the nested braces of one array.
struct ArrayPrinter {
  const Literal& literal;
  AppendElement append;
  std::string& out;
  int64_t linear = 0;

  void Row(int level) {
    const int rank = literal.shape().rank();
    const int64_t size = literal.shape().dim(level);
    // Rows of nested arrays have blanks inside the braces from two elements on, vectors never.
    const bool blanks = rank > 1 && size > 1;
    out += blanks ? "{ " : "{";
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out += ", ";
      append(literal.data(), linear++, out);
    }
    out += blanks ? " }" : "}";
  }

  // `index` is the position of this sub-array in its parent.
  void Level(int level, int64_t index) {
    const int rank = literal.shape().rank();
    if (level == rank - 1) return Row(level);
    const int64_t size = literal.shape().dim(level);
    out += "{ ";
    if (rank > 3 && level > 0) {
      out += "/*i";
      AppendInt(level - 1, out);
      out += '=';
      AppendInt(index, out);
      out += size == 0 ? "*/" : "*/ ";
    }
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out += ", ";
      Level(level + 1, i);
    }
    out += " }";
  }
};

// The braces of an array without elements say nothing that its shape does not; nobody reads more
// than these.
constexpr int64_t kMostEmptyBraces = 1000;

bool HasTooManyEmptyBraces(Shape shape) {
  if (!shape.IsArray() || shape.element_count() != 0) return false;
  int64_t braces = 1;
  for (const int64_t size : shape.dims()) {
    if (size == 0) return false;
    braces = SaturatingMul(braces, size);
    if (braces > kMostEmptyBraces) return true;
  }
  return false;
}

}  // namespace

std::string Literal::ToString(int64_t max_elements) const {
  std::string out;
  AppendTo(out, max_elements);
  return out;
}

void Literal::AppendTo(std::string& out, int64_t max_elements) const {
  const bool shorten = max_elements >= 0;
  if (elided_ || (shorten && (shape_.IsTuple() || element_count() > max_elements)) ||
      HasTooManyEmptyBraces(shape_)) {
    out += "{...}";
    return;
  }
  if (shape_.IsTuple()) {
    out += "( ";
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (i > 0) out += ", ";
      elements_[i].AppendTo(out, max_elements);
    }
    out += " )";
    return;
  }
  if (!shape_.IsArray()) {  // tokens and opaque values have no text of their own
    out += Text(element_type());
    return;
  }
  if (shape_.rank() == 0) return AppendScalar(*this, 0, /*in_array=*/false, out);
  ArrayPrinter{*this, AppenderOf(element_type()), out}.Level(0, 0);
}

void AppendScalar(const Literal& literal, int64_t linear, bool in_array, std::string& out) {
  if (!in_array && IsPred(literal.element_type())) {
    out += literal.data()[linear] != 0 ? "true" : "false";
    return;
  }
  AppenderOf(literal.element_type())(literal.data(), linear, out);
}

}  // namespace hlo
