#include "lib/support/diagnostic.h"

#include <cstring>
#include <optional>

#include "absl/strings/cord.h"
#include "lib/support/line_table.h"
#include "lib/support/severity_word.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr char kPayloadUrl[] = "hlo/diagnostics";

// Payload: for each message severity, offset, length, size of the text, text.
std::string Encode(const std::vector<Diagnostic>& diagnostics) {
  std::string bytes;
  const auto put = [&bytes](uint32_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const Diagnostic& d : diagnostics) {
    put(static_cast<uint32_t>(d.severity));
    put(d.loc.offset);
    put(d.loc.length);
    put(static_cast<uint32_t>(d.message.size()));
    bytes += d.message;
  }
  return bytes;
}

std::vector<Diagnostic> Decode(const std::string& bytes) {
  std::vector<Diagnostic> result;
  size_t at = 0;
  const auto get = [&] {
    uint32_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  };
  while (at < bytes.size()) {
    Diagnostic d;
    d.severity = static_cast<Severity>(get());
    d.loc.offset = get();
    d.loc.length = get();
    const uint32_t size = get();
    d.message = bytes.substr(at, size);
    at += size;
    result.push_back(std::move(d));
  }
  return result;
}

}  // namespace

std::string_view Word(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "";
}

std::vector<Diagnostic> DiagnosticsOf(const absl::Status& status) {
  if (status.ok()) return {};
  if (const std::optional<absl::Cord> payload = [&]() -> std::optional<absl::Cord> {
        auto p = status.GetPayload(kPayloadUrl);
        if (p) return *p;
        return std::nullopt;
      }()) {
    return Decode(std::string(*payload));
  }
  return {Diagnostic{Severity::kError, {}, std::string(ToStd(status.message()))}};
}

absl::Status StatusOf(absl::StatusCode code, const std::vector<Diagnostic>& diagnostics) {
  absl::Status status(code, ToAbsl(diagnostics.front().message));
  status.SetPayload(kPayloadUrl, absl::Cord(Encode(diagnostics)));
  return status;
}

absl::Status AddNote(const absl::Status& status, SourceLoc loc, std::string_view message) {
  if (status.ok()) return status;
  std::vector<Diagnostic> all = DiagnosticsOf(status);
  all.push_back({Severity::kNote, loc, std::string(message)});
  return StatusOf(status.code(), all);
}

absl::Status AddLocation(const absl::Status& status, SourceLoc loc) {
  if (status.ok() || !loc.known()) return status;
  std::vector<Diagnostic> all = DiagnosticsOf(status);
  if (all.front().loc.known()) return status;
  all.front().loc = loc;
  return StatusOf(status.code(), all);
}

absl::Status AddPrefix(const absl::Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  std::vector<Diagnostic> all = DiagnosticsOf(status);
  all.front().message = std::string(prefix) + ": " + all.front().message;
  return StatusOf(status.code(), all);
}

std::string Render(const std::vector<Diagnostic>& diagnostics, const Source* source) {
  std::string out;
  std::optional<LineTable> lines;
  for (const Diagnostic& d : diagnostics) {
    if (source != nullptr && d.loc.known()) {
      if (!lines.has_value()) lines.emplace(*source);
      const LineColumn at = lines->Locate(d.loc.offset);
      out += fmt::format("{}:{}:{}: ", source->name(), at.line, at.column);
    } else if (source != nullptr && !source->name().empty()) {
      out += fmt::format("{}: ", source->name());
    }
    out += fmt::format("{}: {}\n", Word(d.severity), d.message);
    if (source != nullptr && d.loc.known()) out += source->RenderCaret(d.loc);
  }
  return out;
}

std::string Render(const absl::Status& status, const Source* source) {
  return Render(DiagnosticsOf(status), source);
}

}  // namespace hlo
