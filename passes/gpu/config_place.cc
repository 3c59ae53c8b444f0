#include "passes/gpu/config_place.h"

#include <algorithm>
#include <optional>

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

// The part of `text`, which follows `"`, up to the `"` that ends it.
std::string_view UpToQuote(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return text.substr(0, i);
    if (text[i] == '\\') ++i;
  }
  return {};
}

// How many bytes of `quoted` spell the first `count` of what it stands for.
size_t SpelledBytes(std::string_view quoted, size_t count) {
  size_t at = 0;
  for (size_t n = 0; n < count && at < quoted.size(); ++n) {
    if (quoted[at++] != '\\') continue;
    size_t digits = 0;  // \ooo
    while (digits < 3 && at + digits < quoted.size() && quoted[at + digits] >= '0' &&
           quoted[at + digits] <= '7')
      ++digits;
    at += std::max<size_t>(digits, 1);
  }
  return std::min(at, quoted.size());
}

// `place` of the config in `written`, the text after `backend_config=`, if that is it.
std::optional<SourceLoc> PlaceIn(std::string_view written, std::string_view config,
                                 SourceLoc place) {
  if (written.starts_with(config)) return place;
  if (!written.starts_with('"')) return std::nullopt;
  const std::string_view quoted = UpToQuote(written.substr(1));
  if (CUnescape(quoted) != config) return std::nullopt;
  const size_t begin = SpelledBytes(quoted, place.offset);
  const size_t end = SpelledBytes(quoted, place.offset + size_t{place.length});
  return SourceLoc{static_cast<uint32_t>(begin + 1), static_cast<uint32_t>(end - begin)};
}

// On the line of the call.
SourceLoc PlaceInModule(const Instruction& call, SourceLoc place) {
  constexpr std::string_view kAttribute = "backend_config=";
  const Source* const source = call.module().source().get();
  if (source == nullptr || !call.loc().known() || !place.known()) return call.loc();
  const std::string_view text = source->text();
  if (call.loc().offset >= text.size()) return call.loc();
  const std::string_view line = text.substr(0, text.find('\n', call.loc().offset));
  for (size_t at = line.find(kAttribute, call.loc().offset); at != std::string_view::npos;
       at = line.find(kAttribute, at + 1)) {
    const size_t begin = at + kAttribute.size();
    const auto found = PlaceIn(line.substr(begin), call.backend_config(), place);
    if (found) return {static_cast<uint32_t>(begin + found->offset), found->length};
  }
  return call.loc();
}

}  // namespace

absl::Status AtConfigOf(const Instruction& call, const absl::Status& status) {
  const Diagnostic what = DiagnosticsOf(status).front();
  return Error(PlaceInModule(call, what.loc), "the backend_config of `{}` cannot be read: {}",
               call.name(), what.message);
}

}  // namespace hlo
