#include "lib/types/element_type.h"

#include <catch2/catch.hpp>
#include <set>

namespace hlo {
namespace {

TEST_CASE("every type is found by its text and its proto number", "[types][element-type]") {
  std::set<std::string_view> texts;
  std::set<int> numbers;
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    CAPTURE(std::string(Text(type)));
    CHECK(texts.insert(Text(type)).second);
    CHECK(numbers.insert(Info(type).proto_number).second);
    CHECK(ElementTypeFromProto(Info(type).proto_number) == type);
    if (type != ElementType::kTuple && type != ElementType::kBuffer) {
      CHECK(ElementTypeFromText(Text(type)) == type);
    }
  }
  CHECK(kElementTypeCount == 36);
}

TEST_CASE("words that are no types give nothing", "[types][element-type]") {
  for (const char* word : {"tuple", "buffer", "F32", "s3", "", "opaque_type", "f8"}) {
    CAPTURE(word);
    CHECK_FALSE(ElementTypeFromText(word).has_value());
  }
  CHECK_FALSE(ElementTypeFromProto(0).has_value());
}

TEST_CASE("sizes in memory agree with the C++ types", "[types][element-type]") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (!IsArrayType(type)) {
      CHECK(ByteSize(type) == 0);
      continue;
    }
    CAPTURE(std::string(Text(type)));
    WithNativeType(type, [&]<class T>() { CHECK(static_cast<int>(sizeof(T)) == ByteSize(type)); });
  }
}

TEST_CASE("sub-byte integers keep their low bits and extend the sign", "[types][element-type]") {
  CHECK(S4::Wrap(7).value == 7);
  CHECK(S4::Wrap(8).value == -8);
  CHECK(S4::Wrap(-1).value == -1);
  CHECK(S4::Wrap(0x1234).value == 4);
  CHECK(U4::Wrap(-1).value == 15);
  CHECK(S1::Wrap(1).value == -1);
  CHECK(S2::Wrap(2).value == -2);
  CHECK(U2::Wrap(7).value == 3);
  CHECK(U1::Wrap(2).value == 0);
}

TEST_CASE("classes of types exclude each other", "[types][element-type]") {
  CHECK_FALSE(IsInteger(ElementType::kPred));
  CHECK_FALSE(IsSubByte(ElementType::kPred));
  CHECK(IsSubByte(ElementType::kF6E2M3FN));
  CHECK_FALSE(IsSubByte(ElementType::kToken));
  CHECK(IsFloat(ElementType::kF8E8M0FNU));
  CHECK_FALSE(IsFloat(ElementType::kC64));
  CHECK(ComponentType(ElementType::kC128) == ElementType::kF64);
  CHECK(ComplexTypeOf(ElementType::kF32) == ElementType::kC64);
}

}  // namespace
}  // namespace hlo
