#include "lib/support/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "lib/support/status.h"

namespace hlo {
namespace {

constexpr std::string_view kGzipMark = "\x1f\x8b";
constexpr std::string_view kZstdMark = "\x28\xb5\x2f\xfd";
constexpr size_t kPiece = size_t{1} << 18;

// Unpacked bytes, up to a limit.
class Output {
 public:
  Output(std::string_view path, uint64_t packed)
      : path_(path), packed_(packed), limit_(UnpackedLimit(packed)) {
    bytes_.reserve(std::min<uint64_t>(limit_, packed * 4));
  }
  absl::Status Add(const char* piece, size_t size) {
    if (bytes_.size() + size > limit_) {
      return Error(
          "cannot unpack `{}`: its {} bytes become more than {}; unpack it by hand if that is "
          "right",
          path_, packed_, limit_);
    }
    // A string that grows by itself may take twice the limit.
    if (bytes_.size() + size > bytes_.capacity())
      bytes_.reserve(std::min<uint64_t>(limit_, bytes_.capacity() * 3 / 2 + size));
    bytes_.append(piece, size);
    return absl::OkStatus();
  }
  absl::Status Damaged(std::string_view format, std::string_view how) const {
    return Error("cannot unpack `{}`: the {} data {}", path_, format, how);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string_view path_;
  uint64_t packed_;
  uint64_t limit_;
  std::string bytes_;
};

absl::Status Gunzip(std::string_view data, z_stream& stream, Output& out) {
  std::vector<char> piece(kPiece);
  while (true) {
    if (stream.avail_in == 0) {
      const size_t size = std::min<size_t>(data.size(), size_t{1} << 30);
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
      stream.avail_in = static_cast<uInt>(size);
      data.remove_prefix(size);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_BUF_ERROR) return out.Damaged("gzip", "ends too early");
    if (code != Z_OK && code != Z_STREAM_END) return out.Damaged("gzip", "is damaged");
    RETURN_IF_ERROR(out.Add(piece.data(), piece.size() - stream.avail_out));
    if (code != Z_STREAM_END) continue;
    // Another member may follow, and zeros that fill up a block.
    std::string_view rest(reinterpret_cast<const char*>(stream.next_in), stream.avail_in);
    const bool zeros = rest.find_first_not_of('\0') == std::string_view::npos &&
                       data.find_first_not_of('\0') == std::string_view::npos;
    if (zeros) return absl::OkStatus();
    if (inflateReset(&stream) != Z_OK) return out.Damaged("gzip", "is damaged");
  }
}

absl::StatusOr<std::string> UnpackGzip(std::string_view data, std::string_view path) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return Error("cannot unpack `{}`", path);
  Output out(path, data.size());
  const absl::Status status = Gunzip(data, stream, out);
  inflateEnd(&stream);
  if (!status.ok()) return status;
  return out.Take();
}

absl::StatusOr<std::string> UnpackZstd(std::string_view data, std::string_view path) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) return Error("cannot unpack `{}`", path);
  Output out(path, data.size());
  std::vector<char> piece(kPiece);
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  while (true) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    const size_t left = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(left) != 0)
      return out.Damaged("Zstandard", std::string("is damaged: ") + ZSTD_getErrorName(left));
    RETURN_IF_ERROR(out.Add(piece.data(), to.pos));
    if (in.pos < in.size) continue;
    if (left == 0) return out.Take();
    // All is read: what is still inside comes out piece by piece.
    if (to.pos < to.size) return out.Damaged("Zstandard", "ends too early");
  }
}

}  // namespace

uint64_t UnpackedLimit(uint64_t size) {
  constexpr uint64_t kAnyway = uint64_t{256} << 20, kNever = (uint64_t{1} << 32) - 1;
  return std::min(kNever, std::max(kAnyway, std::min(size, kNever) * 200));
}

absl::StatusOr<std::string> Unpack(std::string data, std::string_view path) {
  if (data.starts_with(kGzipMark)) return UnpackGzip(data, path);
  if (data.starts_with(kZstdMark)) return UnpackZstd(data, path);
  return data;
}

}  // namespace hlo
