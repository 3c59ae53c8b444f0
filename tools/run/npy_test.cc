#include "tools/run/npy.h"

#include <zlib.h>

#include <catch2/catch.hpp>

#include "parser/parser.h"
#include "tools/run/inputs.h"
#include "tools/support/generator.h"

namespace hlo {
namespace {

Literal Parsed(std::string_view text) {
  absl::StatusOr<Literal> literal = ParseShapeAndLiteral(text);
  INFO(text);
  REQUIRE(literal.ok());
  return *literal;
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// A .npy text of version 1 with this header and these data.
std::string Npy(std::string header, std::string_view data) {
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + std::string(data);
}

void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) & 0xFF : 0);
}

std::string Deflated(const std::string& data) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(data.size() + 100, '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.erase(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// A zip archive with one member.
std::string Zip(const std::string& name, const std::string& data, bool deflated) {
  const std::string packed = deflated ? Deflated(data) : data;
  const int method = deflated ? 8 : 0;
  std::string zip;
  Put(zip, 0x04034b50, 4);
  Put(zip, 20, 2);
  Put(zip, 0, 2);
  Put(zip, static_cast<uint64_t>(method), 2);
  Put(zip, 0, 8);  // time, date, checksum
  Put(zip, packed.size(), 4);
  Put(zip, data.size(), 4);
  Put(zip, name.size(), 2);
  Put(zip, 0, 2);
  zip += name + packed;
  const size_t directory = zip.size();
  Put(zip, 0x02014b50, 4);
  Put(zip, 20, 2);
  Put(zip, 20, 2);
  Put(zip, 0, 2);
  Put(zip, static_cast<uint64_t>(method), 2);
  Put(zip, 0, 8);
  Put(zip, packed.size(), 4);
  Put(zip, data.size(), 4);
  Put(zip, name.size(), 2);
  Put(zip, 0, 16);  // extra, comment, disk, attributes, place of the member
  zip += name;
  const size_t size = zip.size() - directory;
  Put(zip, 0x06054b50, 4);
  Put(zip, 0, 4);
  Put(zip, 1, 2);
  Put(zip, 1, 2);
  Put(zip, size, 4);
  Put(zip, directory, 4);
  Put(zip, 0, 2);
  return zip;
}

}  // namespace

TEST_CASE("arrays of every element type survive .npy", "[run][npy]") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (!IsArrayType(type)) continue;
    CAPTURE(Text(type));
    InputSpec spec;
    spec.kind =
        IsFloat(ComponentType(type)) ? InputSpec::Kind::kUniform : InputSpec::Kind::kRandint;
    for (const Shape shape : {Shape::Array(type, {3, 5}), Shape::Scalar(type),
                              Shape::Array(type, {0, 2}), Shape::Array(type, {7})}) {
      const Literal before = GenerateInput(shape, spec, 3, 0);
      const std::string text = NpyText(before);
      CHECK((text.size() - static_cast<size_t>(before.byte_size())) % 64 == 0);
      const absl::StatusOr<NpyArray> array = ParseNpy(text);
      REQUIRE(array.ok());
      const absl::StatusOr<Literal> after = ToLiteral(*array, shape);
      REQUIRE(after.ok());
      CHECK(*after == before);
    }
  }
}

TEST_CASE("types without a NumPy name are stored as bytes", "[run][npy]") {
  CHECK(NpyDescr(ElementType::kBF16) == "<V2");
  CHECK(NpyDescr(ElementType::kF8E4M3FN) == "|V1");
  CHECK(NpyDescr(ElementType::kF4E2M1FN) == "|V1");
  CHECK(NpyDescr(ElementType::kS4) == "|i1");
  CHECK(NpyDescr(ElementType::kU2) == "|u1");
  CHECK(NpyDescr(ElementType::kPred) == "|b1");
  CHECK(NpyDescr(ElementType::kC64) == "<c8");
}

TEST_CASE("Fortran order and big-endian data are read", "[run][npy]") {
  const std::string fortran = Npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }",
                                  std::string("\x01\x02\x03\x04\x05\x06", 6));
  const absl::StatusOr<NpyArray> array = ParseNpy(fortran);
  REQUIRE(array.ok());
  CHECK(*ToLiteral(*array, Shape::Array(ElementType::kS8, {2, 3})) ==
        Parsed("s8[2,3] { {1, 3, 5}, {2, 4, 6} }"));

  const std::string big = Npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                              std::string("\x00\x01\x01\x00", 4));
  const absl::StatusOr<NpyArray> swapped = ParseNpy(big);
  REQUIRE(swapped.ok());
  CHECK(*ToLiteral(*swapped, Shape::Array(ElementType::kS16, {2})) == Parsed("s16[2] {1, 256}"));
}

TEST_CASE("only the low bits of stored sub-byte values count", "[run][npy]") {
  const std::string text = Npy("{'descr': '|V1', 'fortran_order': False, 'shape': (3,), }",
                               std::string("\x08\x17\xff", 3));
  const NpyArray array = *ParseNpy(text);
  CHECK(*ToLiteral(array, Shape::Array(ElementType::kS4, {3})) == Parsed("s4[3] {-8, 7, -1}"));
  CHECK(*ToLiteral(array, Shape::Array(ElementType::kU4, {3})) == Parsed("u4[3] {8, 7, 15}"));
}

TEST_CASE("damaged .npy texts are errors", "[run][npy]") {
  const std::string good = NpyText(Parsed("f32[2] {1, 2}"));
  for (size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(ParseNpy(good.substr(0, size)).ok());
  CHECK_FALSE(ParseNpy(good + "x").ok());
  CHECK_FALSE(ParseNpy(Npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "ab")).ok());
  CHECK_FALSE(
      ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }",
                   "ab"))
          .ok());
  CHECK_FALSE(
      ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "ab")).ok());
}

TEST_CASE("an array of another shape, type or range is refused in words", "[run][npy]") {
  const std::string text = NpyText(Parsed("f32[2] {1, 2}"));
  const NpyArray array = *ParseNpy(text);
  CHECK(MessageOf(ToLiteral(array, Shape::Array(ElementType::kF32, {3})).status()) ==
        "expected `f32[3]`, found `f32[2]`");
  CHECK(MessageOf(ToLiteral(array, Shape::Array(ElementType::kS32, {2})).status()) ==
        "expected `s32[2]`, found `f32[2]`");
  CHECK(MessageOf(ToLiteral(array, Shape::Array(ElementType::kBF16, {2})).status()) ==
        "expected `bf16[2]` (stored as <V2), found `f32[2]`");
  const std::string nine = NpyText(Parsed("s8[2] {7, 9}"));
  CHECK(MessageOf(ToLiteral(*ParseNpy(nine), Shape::Array(ElementType::kS4, {2})).status()) ==
        "value 9 at index [1] does not fit `s4`");
}

TEST_CASE("archives with stored and deflated members are read", "[run][npy]") {
  const std::string npy = NpyText(Literal::Filled(Shape::Array(ElementType::kF32, {50}), 1.5));
  for (const bool deflated : {false, true}) {
    const std::string zip = Zip("arr_0.npy", npy, deflated);
    const absl::StatusOr<std::vector<NpzMember>> members = ReadNpz(zip);
    REQUIRE(members.ok());
    REQUIRE(members->size() == 1);
    CHECK(members->front().name == "arr_0");
    CHECK(members->front().text == npy);
    // Cut short it is an error, never a crash.
    for (size_t size = 0; size < zip.size(); ++size) CHECK_FALSE(ReadNpz(zip.substr(0, size)).ok());
  }
  CHECK_FALSE(ReadNpz("PK").ok());
}

}  // namespace hlo
