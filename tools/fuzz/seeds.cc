#include "tools/fuzz/seeds.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "parser/parser.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// A character below 0x10000 as UTF-8. Bytes that are no UTF-8 are written \udc80 to \udcff.
void AppendCodeUnit(unsigned unit, std::string& out) {
  if (unit >= 0xdc80 && unit <= 0xdcff) {
    out += static_cast<char>(unit & 0xff);
  } else if (unit < 0x80) {
    out += static_cast<char>(unit);
  } else {
    if (unit >= 0x800) out += static_cast<char>(0xe0 | unit >> 12);
    out += static_cast<char>(unit >= 0x800 ? 0x80 | (unit >> 6 & 0x3f) : 0xc0 | unit >> 6);
    out += static_cast<char>(0x80 | (unit & 0x3f));
  }
}

char Unescaped(char escape) {
  switch (escape) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return escape;
  }
}

}  // namespace

std::string InputOfCase(std::string_view line) {
  constexpr std::string_view kKey = "\"input\": \"";
  const size_t key = line.find(kKey);
  if (key == std::string_view::npos) return "";
  std::string out;
  for (size_t at = key + kKey.size(); at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\' || at + 1 >= line.size()) {
      out += line[at];
      continue;
    }
    ++at;
    if (line[at] != 'u' || at + 4 >= line.size()) {
      out += Unescaped(line[at]);
      continue;
    }
    unsigned unit = 0;
    std::from_chars(line.data() + at + 1, line.data() + at + 5, unit, 16);
    AppendCodeUnit(unit, out);
    at += 4;
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> ReadSeeds(const std::vector<std::string>& paths,
                                                   size_t max_length) {
  std::vector<std::string> files, seeds;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    if (error) return Error("cannot read `{}`: {}", path, error.message());
  }
  std::sort(files.begin(), files.end());
  const auto add = [&](std::string_view text) {
    if (text.size() <= max_length) seeds.emplace_back(text);
  };
  for (const std::string& file : files) {
    if (file.ends_with(".json") || file.ends_with(".py")) continue;
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    if (file.ends_with(".jsonl")) {
      for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        add(InputOfCase(std::string_view(text).substr(at, end - at)));
        at = end + 1;
      }
      continue;
    }
    for (const SplitPart& part : SplitInputFile(text)) add(part.text);
  }
  std::sort(seeds.begin(), seeds.end());
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  return seeds;
}

}  // namespace hlo
