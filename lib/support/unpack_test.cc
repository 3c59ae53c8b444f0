#include "lib/support/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <vector>

#include "lib/support/diagnostic.h"

namespace hlo {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string Failure(std::string data) {
  const absl::StatusOr<std::string> result = Unpack(std::move(data), "f");
  return result.ok() ? "unpacked" : DiagnosticsOf(result.status()).front().message;
}

std::string LongText() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 100003) + ",";
  return text;
}

}  // namespace

TEST_CASE("compressed data is told by its first bytes", "[support][unpack]") {
  const std::string text = LongText();
  CHECK(*Unpack(Gzip(text), "f") == text);
  CHECK(*Unpack(Zstd(text), "f") == text);
  CHECK(*Unpack(text, "f") == text);
  CHECK(Unpack("", "f")->empty());
  CHECK(*Unpack("\x1f", "f") == "\x1f");
  CHECK(Unpack(Gzip(""), "f")->empty());
  CHECK(Unpack(Zstd(""), "f")->empty());
}

TEST_CASE("several compressed pieces in a row are one text", "[support][unpack]") {
  CHECK(*Unpack(Gzip("one ") + Gzip("two"), "f") == "one two");
  CHECK(*Unpack(Gzip("one") + std::string(512, '\0'), "f") == "one");
  CHECK(*Unpack(Zstd("one ") + Zstd("two"), "f") == "one two");
}

TEST_CASE("compressed data that ends early is an error wherever it ends", "[support][unpack]") {
  const std::string text = LongText();
  const std::string gzip = Gzip(text), zstd = Zstd(text);
  for (const size_t size :
       {size_t{4}, size_t{10}, gzip.size() / 2, gzip.size() - 8, gzip.size() - 1})
    CHECK(Failure(gzip.substr(0, size)) == "cannot unpack `f`: the gzip data ends too early");
  for (const size_t size : {size_t{4}, size_t{6}, zstd.size() / 2, zstd.size() - 1})
    CHECK(Failure(zstd.substr(0, size)) == "cannot unpack `f`: the Zstandard data ends too early");
}

TEST_CASE("damaged compressed data is an error", "[support][unpack]") {
  std::string gzip = Gzip(LongText()), zstd = Zstd(LongText());
  gzip[gzip.size() - 6] ^= 1;  // in the checksum
  CHECK(Failure(gzip) == "cannot unpack `f`: the gzip data is damaged");
  CHECK(Failure(Gzip("x") + "garbage") == "cannot unpack `f`: the gzip data is damaged");
  zstd.replace(6, 10, std::string(10, '\xff'));  // the header of the first block
  CHECK_THAT(Failure(zstd),
             Catch::Matchers::StartsWith("cannot unpack `f`: the Zstandard data is damaged"));
}

TEST_CASE("data that unpacks to far more than its size is refused", "[support][unpack]") {
  CHECK(UnpackedLimit(10) == 256u << 20);
  CHECK(UnpackedLimit(10u << 20) == uint64_t{2000} << 20);
  CHECK(UnpackedLimit(uint64_t{1} << 40) == (uint64_t{1} << 32) - 1);
  // 300 MB of zeros, 1 MB at a time.
  const std::string zeros(1 << 20, '\0');
  const std::string piece = Zstd(zeros);
  std::string bomb;
  for (int i = 0; i < 300; ++i) bomb += piece;
  CHECK_THAT(Failure(bomb), Catch::Matchers::Contains("bytes become more than 268435456"));
}

}  // namespace hlo
