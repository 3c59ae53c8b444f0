// The zip side of npy.h: members are found through the central directory at the end of the archive.
#include <zlib.h>

#include <algorithm>

#include "lib/support/status.h"
#include "tools/run/npy.h"

namespace hlo {
namespace {

constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kEndOfDirectory64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint64_t kInExtra32 = 0xFFFFFFFF;

class ZipReader {
 public:
  explicit ZipReader(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<NpzMember>> Read() {
    uint64_t at = 0, count = 0;
    if (!FindDirectory(at, count)) return Error("this is no .npz archive");
    std::vector<NpzMember> members;
    for (uint64_t i = 0; i < count; ++i) {
      if (!Has(at, 46) || Get(at, 4) != kDirectoryEntry) return Damaged();
      const uint64_t name_size = Get(at + 28, 2), extra_size = Get(at + 30, 2),
                     comment_size = Get(at + 32, 2);
      if (!Has(at + 46, name_size + extra_size + comment_size)) return Damaged();
      Entry entry{std::string(text_.substr(at + 46, name_size)), Get(at + 10, 2), Get(at + 20, 4),
                  Get(at + 24, 4), Get(at + 42, 4)};
      ReadExtra(at + 46 + name_size, extra_size, entry);
      ASSIGN_OR_RETURN(std::string data, Unpack(entry));
      constexpr std::string_view kSuffix = ".npy";
      if (entry.name.size() > kSuffix.size() &&
          entry.name.compare(entry.name.size() - 4, 4, kSuffix) == 0) {
        entry.name.resize(entry.name.size() - kSuffix.size());
      }
      members.push_back({entry.name, std::move(data)});
      at += 46 + name_size + extra_size + comment_size;
    }
    return members;
  }

 private:
  struct Entry {
    std::string name;
    uint64_t method;  // 0: stored, 8: deflated
    uint64_t packed;
    uint64_t unpacked;
    uint64_t header;  // place of the local header
  };

  static absl::Status Damaged() { return Error("the archive is damaged"); }
  bool Has(uint64_t at, uint64_t size) const {
    return at <= text_.size() && size <= text_.size() - at;
  }
  uint64_t Get(uint64_t at, int bytes) const {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | static_cast<uint8_t>(text_[at + static_cast<uint64_t>(i)]);
    return value;
  }

  // The record at the end may be followed by a comment of up to 64 KiB.
  bool FindDirectory(uint64_t& at, uint64_t& count) const {
    if (text_.size() < 22) return false;
    const uint64_t lowest = text_.size() > 22 + 65535 ? text_.size() - 22 - 65535 : 0;
    for (uint64_t end = text_.size() - 22;; --end) {
      if (Get(end, 4) == kEndOfDirectory) {
        count = Get(end + 10, 2);
        at = Get(end + 16, 4);
        if ((at == kInExtra32 || count == 0xFFFF) && end >= 20 && Get(end - 20, 4) == kLocator64) {
          const uint64_t record = Get(end - 20 + 8, 8);
          if (!Has(record, 56) || Get(record, 4) != kEndOfDirectory64) return false;
          count = Get(record + 32, 8);
          at = Get(record + 48, 8);
        }
        return at <= text_.size();
      }
      if (end == lowest) return false;
    }
  }

  // Sizes that need more than 32 bits stand in the extra field with id 1.
  void ReadExtra(uint64_t at, uint64_t size, Entry& entry) const {
    const uint64_t end = at + size;
    while (at + 4 <= end) {
      const uint64_t id = Get(at, 2), length = Get(at + 2, 2);
      uint64_t value = at + 4;
      if (id == 1 && value + length <= end) {
        for (uint64_t* field : {&entry.unpacked, &entry.packed, &entry.header}) {
          if (*field != kInExtra32 || value + 8 > at + 4 + length) continue;
          *field = Get(value, 8);
          value += 8;
        }
      }
      at += 4 + length;
    }
  }

  absl::StatusOr<std::string> Unpack(const Entry& entry) const {
    if (!Has(entry.header, 30) || Get(entry.header, 4) != kLocalHeader) return Damaged();
    const uint64_t begin =
        entry.header + 30 + Get(entry.header + 26, 2) + Get(entry.header + 28, 2);
    if (!Has(begin, entry.packed)) return Damaged();
    const std::string_view packed = text_.substr(begin, entry.packed);
    if (entry.method == 0) return std::string(packed);
    if (entry.method != 8)
      return Error("member `{}` is packed with method {}, which is not known", entry.name,
                   entry.method);
    // Deflate packs at most about a thousandfold; a larger claim is damage, not a reason to take
    // memory.
    if (entry.unpacked > entry.packed * 1100 + 1024) return Damaged();
    std::string data(entry.unpacked, '\0');
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Damaged();
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream.next_out = reinterpret_cast<Bytef*>(data.data());
    uint64_t left_in = packed.size(), left_out = data.size();
    int code = Z_OK;
    while (code == Z_OK) {  // zlib counts in 32 bits
      constexpr uint64_t kMost = 1u << 30;
      stream.avail_in = static_cast<uInt>(std::min(left_in, kMost));
      stream.avail_out = static_cast<uInt>(std::min(left_out, kMost));
      const uint64_t in = stream.avail_in, out = stream.avail_out;
      code = inflate(&stream, Z_NO_FLUSH);
      left_in -= in - stream.avail_in;
      left_out -= out - stream.avail_out;
      if (code == Z_OK && in == stream.avail_in && out == stream.avail_out) break;
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END || left_out != 0) return Damaged();
    return data;
  }

  std::string_view text_;
};

}  // namespace

absl::StatusOr<std::vector<NpzMember>> ReadNpz(std::string_view text) {
  return ZipReader(text).Read();
}

absl::StatusOr<std::string> NpzText(const std::vector<NpzMember>& members) {
  std::string text, directory;
  const auto put = [](std::string& out, uint64_t value, int bytes) {
    for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value & 0xFF);
  };
  for (const NpzMember& member : members) {
    const std::string name = member.name + ".npy";
    const uint64_t at = text.size(), size = member.text.size();
    if (at + size >= kInExtra32) return Error("an .npz archive holds less than 4 GiB");
    const uLong checksum = crc32_z(0, reinterpret_cast<const Bytef*>(member.text.data()), size);
    // What stands in the local header and in the directory alike: version, flags, method (stored),
    // a date that is always the same, checksum, sizes, length of the name, no extra field.
    std::string common;
    constexpr uint64_t kFirstOf1980 = 0x21;
    put(common, 20, 2);
    put(common, 0, 2);
    put(common, 0, 2);
    put(common, 0, 2);
    put(common, kFirstOf1980, 2);
    put(common, checksum, 4);
    put(common, size, 4);
    put(common, size, 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    put(text, kLocalHeader, 4);
    text += common + name + member.text;
    put(directory, kDirectoryEntry, 4);
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 10);  // no comment, disk 0, no attributes
    put(directory, at, 4);
    directory += name;
  }
  const uint64_t begin = text.size();
  if (begin + directory.size() >= kInExtra32 || members.size() >= 0xFFFF)
    return Error("an .npz archive holds less than 4 GiB and 65535 arrays");
  text += directory;
  put(text, kEndOfDirectory, 4);
  put(text, 0, 4);
  put(text, members.size(), 2);
  put(text, members.size(), 2);
  put(text, directory.size(), 4);
  put(text, begin, 4);
  put(text, 0, 2);
  return text;
}

}  // namespace hlo
