// The element types of HLO, from element_types.def, and the dispatch from a run-time type to a C++
// type.
//
// In memory every value of an array takes a whole number of bytes: pred, 4-bit floats, 6-bit floats
// and sub-byte integers take one byte each (one value per byte, integers sign- or zero-extended).
// Packing exists only in layouts (`E(4)`).
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/types/float_types.h"

namespace hlo {

enum class ElementType : uint8_t {
#define HLO_TYPE(Name, text, bits, cls, proto, native) k##Name,
#include "lib/types/element_types.def"
};

enum class TypeClass : uint8_t { kPred, kSigned, kUnsigned, kFloat, kComplex, kOther };

struct ElementTypeInfo {
  std::string_view text;
  int bits;  // logical bits of one value; 0 for non-arrays
  TypeClass type_class;
  int proto_number;
};

inline constexpr ElementTypeInfo kElementTypeInfos[] = {
#define HLO_TYPE(Name, text, bits, cls, proto, native) {text, bits, TypeClass::cls, proto},
#include "lib/types/element_types.def"
};
inline constexpr int kElementTypeCount = static_cast<int>(std::size(kElementTypeInfos));

constexpr const ElementTypeInfo& Info(ElementType type) {
  return kElementTypeInfos[static_cast<int>(type)];
}
constexpr std::string_view Text(ElementType type) { return Info(type).text; }
constexpr int BitWidth(ElementType type) { return Info(type).bits; }
// Bytes of one value in memory (see the head of this file); 0 for non-arrays.
constexpr int ByteSize(ElementType type) { return (Info(type).bits + 7) / 8; }

constexpr bool IsPred(ElementType t) { return t == ElementType::kPred; }
constexpr bool IsSigned(ElementType t) { return Info(t).type_class == TypeClass::kSigned; }
constexpr bool IsUnsigned(ElementType t) { return Info(t).type_class == TypeClass::kUnsigned; }
constexpr bool IsInteger(ElementType t) { return IsSigned(t) || IsUnsigned(t); }  // without pred
constexpr bool IsFloat(ElementType t) { return Info(t).type_class == TypeClass::kFloat; }
constexpr bool IsComplex(ElementType t) { return Info(t).type_class == TypeClass::kComplex; }
constexpr bool IsArrayType(ElementType t) { return Info(t).type_class != TypeClass::kOther; }
// Narrower than a byte in packed layouts.
constexpr bool IsSubByte(ElementType t) { return IsArrayType(t) && !IsPred(t) && BitWidth(t) < 8; }
// c64 -> f32, c128 -> f64, others unchanged.
constexpr ElementType ComponentType(ElementType t) {
  return t == ElementType::kC64    ? ElementType::kF32
         : t == ElementType::kC128 ? ElementType::kF64
                                   : t;
}
constexpr ElementType ComplexTypeOf(ElementType t) {
  return t == ElementType::kF64 || t == ElementType::kC128 ? ElementType::kC128 : ElementType::kC64;
}

// The type with this text ("f32"), if any; `tuple` and `buffer` are no type words in HLO text and
// give nothing.
std::optional<ElementType> ElementTypeFromText(std::string_view text);
// False for nearly every text that is none: all but four types have a digit in second place.
constexpr bool MayBeElementType(std::string_view text) {
  if (text.size() < 2 || text.size() > 13) return false;
  return (text[1] >= '0' && text[1] <= '9') || text == "pred" || text == "bf16" ||
         text == "token" || text == "opaque";
}
std::optional<ElementType> ElementTypeFromProto(int number);

// Sub-byte integers are stored extended in one byte; these tags keep their width in the C++ type.
template <int kBits, bool kIsSigned>
struct SubByteInt {
  using Storage = std::conditional_t<kIsSigned, int8_t, uint8_t>;
  static constexpr int kWidth = kBits;
  static constexpr bool kSignedness = kIsSigned;
  Storage value = 0;

  constexpr SubByteInt() = default;
  // Keeps the low kBits bits, extended by the sign.
  template <class I>
  static constexpr SubByteInt Wrap(I v) {
    const auto low = static_cast<uint8_t>(static_cast<uint64_t>(v) & ((1u << kBits) - 1));
    SubByteInt r;
    if (kIsSigned && (low >> (kBits - 1) & 1) != 0) {
      r.value = static_cast<Storage>(low | static_cast<uint8_t>(0xFFu << kBits));
    } else {
      r.value = static_cast<Storage>(low);
    }
    return r;
  }
  friend constexpr bool operator==(SubByteInt, SubByteInt) = default;
};
using S1 = SubByteInt<1, true>;
using S2 = SubByteInt<2, true>;
using S4 = SubByteInt<4, true>;
using U1 = SubByteInt<1, false>;
using U2 = SubByteInt<2, false>;
using U4 = SubByteInt<4, false>;

// ElementType -> C++ type of one value in memory.
template <ElementType kType>
struct NativeOf;
#define HLO_TYPE(Name, text, bits, cls, proto, native) \
  template <>                                          \
  struct NativeOf<ElementType::k##Name> {              \
    using type = native;                               \
  };
#include "lib/types/element_types.def"

template <ElementType kType>
using Native = typename NativeOf<kType>::type;

// Calls fn.template operator()<T>() with the C++ type of an array element type. Each call
// instantiates fn 32 times: use it for small bodies only.
template <class Fn>
decltype(auto) WithNativeType(ElementType type, Fn&& fn) {
  switch (type) {
#define HLO_TYPE(Name, text, bits, cls, proto, native) HLO_NATIVE_CASE_##cls(Name)
#define HLO_NATIVE_CASE(Name) \
  case ElementType::k##Name:  \
    return fn.template operator()<Native<ElementType::k##Name>>();
#define HLO_NATIVE_CASE_kPred(Name) HLO_NATIVE_CASE(Name)
#define HLO_NATIVE_CASE_kSigned(Name) HLO_NATIVE_CASE(Name)
#define HLO_NATIVE_CASE_kUnsigned(Name) HLO_NATIVE_CASE(Name)
#define HLO_NATIVE_CASE_kFloat(Name) HLO_NATIVE_CASE(Name)
#define HLO_NATIVE_CASE_kComplex(Name) HLO_NATIVE_CASE(Name)
#define HLO_NATIVE_CASE_kOther(Name) \
  case ElementType::k##Name:         \
    break;
#include "lib/types/element_types.def"
#undef HLO_NATIVE_CASE_kPred
#undef HLO_NATIVE_CASE_kSigned
#undef HLO_NATIVE_CASE_kUnsigned
#undef HLO_NATIVE_CASE_kFloat
#undef HLO_NATIVE_CASE_kComplex
#undef HLO_NATIVE_CASE_kOther
#undef HLO_NATIVE_CASE
  }
  __builtin_unreachable();  // callers check IsArrayType
}

}  // namespace hlo
