#include "lib/support/archive.h"

#include <optional>

#include "lib/support/hash.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

// The line at the front of `bytes`, which loses it; none where no line ends.
std::optional<std::string_view> TakeLine(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return line;
}

std::string_view WithoutNumber(std::string_view kind) {
  return kind.substr(0, kind.rfind(' ') + 1);
}

uint64_t HashOf(std::string_view name, std::string_view bytes) {
  return HashBytes(bytes, HashBytes(name));
}

absl::Status Damaged(std::string_view what) { return Error("the file is damaged: {}", what); }

}  // namespace

std::string PackArchive(std::string_view kind, const std::vector<ArchivePart>& parts) {
  std::string file = fmt::format("{}\n", kind);
  for (const ArchivePart& part : parts)
    file +=
        fmt::format("{} {} {:016x}\n", part.name, part.bytes.size(), HashOf(part.name, part.bytes));
  file += '\n';
  for (const ArchivePart& part : parts) file += part.bytes;
  return file;
}

bool IsArchive(std::string_view kind, std::string_view bytes) {
  return bytes.starts_with(WithoutNumber(kind));
}

absl::StatusOr<std::vector<ArchivePart>> UnpackArchive(std::string_view kind,
                                                       std::string_view bytes) {
  const std::string_view found = TakeLine(bytes).value_or(bytes.substr(0, 80));
  if (found != kind) {
    return IsArchive(kind, found) ? Error("it is `{}`, this program reads `{}`", found, kind)
                                  : Error("it does not begin with `{}`", kind);
  }
  struct Entry {
    std::string_view name;
    size_t size;
    uint64_t hash;
  };
  std::vector<Entry> entries;
  while (true) {
    const std::optional<std::string_view> line = TakeLine(bytes);
    if (!line) return Damaged("it ends in the list of its parts");
    if (line->empty()) break;
    const std::vector<std::string_view> words = Split(*line, ' ');
    const bool are_three = words.size() == 3;
    const auto size = are_three ? ReadNumber<size_t>(words[1]) : std::nullopt;
    const auto hash = are_three ? ReadNumber<uint64_t>(words[2], 16) : std::nullopt;
    if (!size || !hash)
      return Damaged(fmt::format("`{}` names no part of it", line->substr(0, 80)));
    entries.push_back({words[0], *size, *hash});
  }
  std::vector<ArchivePart> parts;
  for (const Entry& entry : entries) {
    if (entry.size > bytes.size()) return Damaged(fmt::format("`{}` is not whole", entry.name));
    const std::string_view part = bytes.substr(0, entry.size);
    if (HashOf(entry.name, part) != entry.hash)
      return Damaged(fmt::format("the bytes of `{}` have changed", entry.name));
    parts.push_back({std::string(entry.name), part});
    bytes.remove_prefix(entry.size);
  }
  if (!bytes.empty()) return Damaged("there is more in it than its parts");
  return parts;
}

}  // namespace hlo
