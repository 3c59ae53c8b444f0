#include "tools/run/memory_view.h"

#include <fmt/format.h>

#include "lib/support/byte_count.h"
#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr size_t kMostAtPeak = 20;

std::string_view KindWord(Allocation::Kind kind) {
  switch (kind) {
    case Allocation::Kind::kArgument: return "argument";
    case Allocation::Kind::kResult: return "result";
    case Allocation::Kind::kConstant: return "constant";
    case Allocation::Kind::kTemp: return "temporary";
  }
  return "";
}

std::string_view StateWord(AliasUse::State state) {
  switch (state) {
    case AliasUse::State::kInPlace: return "in_place";
    case AliasUse::State::kCopied: return "copied";
    case AliasUse::State::kElsewhere: return "elsewhere";
  }
  return "";
}

bool IsBorrowed(const AliasUse& alias, const MemoryView& view) {
  return !view.given.empty() && !view.given[alias.leaf];
}

std::string_view ArgumentWord(const AliasUse& alias, const MemoryView& view) {
  return view.given.empty() ? "copy" : IsBorrowed(alias, view) ? "borrowed" : "donated";
}

// What runs copy of borrowed arguments that they overwrite.
int64_t ProtectedBytes(const MemoryView& view) {
  int64_t bytes = 0;
  for (const Allocation& a : view.report.allocations) {
    if (a.kind == Allocation::Kind::kArgument && a.donated && !view.given.empty() &&
        !view.given[static_cast<size_t>(a.leaf)])
      bytes += a.size;
  }
  return bytes;
}

std::string ShareText(int64_t part, int64_t whole) {
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) /
                                     static_cast<double>(std::max<int64_t>(whole, 1)));
}

// ---- text ----

std::string Sums(const MemoryView& view) {
  const MemoryReport& report = view.report;
  const int64_t copied = ProtectedBytes(view);
  std::string text =
      fmt::format("memory of a run of {} on {}: {}{}\n", report.module, view.platform,
                  ByteCountText(report.total() + copied),
                  view.devices > 1 ? fmt::format(" for each of {} devices", view.devices) : "");
  const auto line = [&text](std::string_view name, int64_t bytes, const std::string& note) {
    text += fmt::format("  {:<12}{:>10}{}\n", name, ByteCountText(bytes), note);
  };
  line("arguments", report.arguments,
       report.donated > 0
           ? fmt::format("  of which outputs may overwrite {}", ByteCountText(report.donated))
           : "");
  if (copied > 0) line("copies", copied, "  of borrowed arguments that the run overwrites");
  line("results", report.results, "");
  line("constants", report.constants, "");
  std::string beside;
  if (view.xla) {
    beside = fmt::format("  XLA:CPU ({}): {}, {:.2f} x", view.xla->version,
                         ByteCountText(view.xla->temporaries),
                         static_cast<double>(report.temporaries) /
                             static_cast<double>(std::max<int64_t>(view.xla->temporaries, 1)));
  }
  line("temporaries", report.temporaries, beside);
  line("scratch", report.scratch, report.scratch > 0 ? "  of the operation that wants most" : "");
  return text;
}

std::string AtPeak(const MemoryReport& report) {
  const MemoryReport::Peak& peak = report.peak;
  if (peak.bytes == 0) return "";
  std::string text = fmt::format(
      "peak of temporaries: {} at time {}, `{}`{}; holes take {}\n", ByteCountText(peak.bytes),
      peak.time, peak.at, peak.source.empty() ? "" : " (" + peak.source + ")",
      ByteCountText(std::max<int64_t>(report.temporaries - peak.bytes, 0)));
  int64_t rest = 0;
  for (size_t i = 0; i < peak.buffers.size(); ++i) {
    const BufferUse& use = report.buffers[peak.buffers[i]];
    if (i >= kMostAtPeak) {
      rest += use.slice.size;
      continue;
    }
    text += fmt::format("  {:>10} {:>7}  {} {} {}{}\n", ByteCountText(use.slice.size),
                        ShareText(use.slice.size, peak.bytes), use.name, use.opcode, use.shape,
                        use.source.empty() ? "" : "  " + use.source);
  }
  if (rest > 0) {
    text += fmt::format("  {:>10} {:>7}  in {} others\n", ByteCountText(rest),
                        ShareText(rest, peak.bytes), peak.buffers.size() - kMostAtPeak);
  }
  return text;
}

std::string Aliases(const MemoryView& view) {
  const MemoryReport& report = view.report;
  std::string text;
  if (!report.aliases.empty()) {
    text += fmt::format("input_output_alias{}:\n",
                        view.given.empty()
                            ? ", in copies of the arguments, as nothing is donated (`--donate`)"
                            : "");
  }
  for (const AliasUse& alias : report.aliases) {
    text += fmt::format("  {:>10}  {} <- {}, {}: {}\n", ByteCountText(alias.bytes), alias.output,
                        alias.parameter, alias.must_alias ? "must-alias" : "may-alias",
                        OutcomeOf(alias, view));
  }
  if (!report.donors.empty()) text += "buffer_donor:\n";
  for (const DonorUse& donor : report.donors) {
    text += fmt::format("  {:>10}  {}: not used: {}\n", ByteCountText(donor.bytes), donor.parameter,
                        donor.reason);
  }
  return text;
}

std::string Buffers(const MemoryReport& report) {
  std::string text =
      fmt::format("{} buffers; times 0..{}\n{:>12} {:>11}  {:<24} {}\n", report.buffers.size(),
                  report.end, "bytes", "needed", "place", "owner");
  for (const BufferUse& use : report.buffers) {
    const auto number = static_cast<size_t>(use.slice.allocation);
    std::string place = report.allocation_names[number];
    if (report.allocations[number].kind == Allocation::Kind::kTemp)
      place += fmt::format(" + {}", use.slice.offset);
    text += fmt::format("{:>12} {:>11}  {:<24} {} {} {}{}\n", use.slice.size,
                        fmt::format("{}..{}", use.start, use.end), place, use.name, use.opcode,
                        use.shape, use.source.empty() ? "" : "  " + use.source);
  }
  return text;
}

std::string MemoryTable(const MemoryView& view) {
  return Sums(view) + AtPeak(view.report) + Aliases(view) + Buffers(view.report);
}

// ---- JSON ----

std::string MemoryJson(const MemoryView& view) {
  const MemoryReport& report = view.report;
  std::string text = fmt::format(
      R"({{"schema":1,"module":{},"platform":{},"devices":{},"bytes":{{"arguments":{},)"
      R"("donated":{},"copies":{},"results":{},"constants":{},"temporaries":{},"scratch":{}}},)",
      JsonQuoted(report.module), JsonQuoted(view.platform), view.devices, report.arguments,
      report.donated, ProtectedBytes(view), report.results, report.constants, report.temporaries,
      report.scratch);
  if (view.xla) {
    text += fmt::format(R"("xla":{{"version":{},"temporaries":{}}},)",
                        JsonQuoted(view.xla->version), view.xla->temporaries);
  }
  const auto begin = [&text](std::string_view name) { text += fmt::format("\"{}\":[", name); };
  const auto next = [&text] { text += text.back() == '[' ? "\n" : ",\n"; };
  text += fmt::format(R"("end":{},"peak":{{"time":{},"at":{},"source":{},"bytes":{},)", report.end,
                      report.peak.time, JsonQuoted(report.peak.at), JsonQuoted(report.peak.source),
                      report.peak.bytes);
  text += fmt::format("\"buffers\":[{}]}},\n", fmt::join(report.peak.buffers, ","));
  begin("aliases");
  for (const AliasUse& alias : report.aliases) {
    next();
    text += fmt::format(
        R"({{"output":{},"parameter":{},"kind":{},"bytes":{},"argument":"{}","state":{},"by":{},)"
        R"("reason":{}}})",
        JsonQuoted(alias.output), JsonQuoted(alias.parameter),
        alias.must_alias ? "\"must-alias\"" : "\"may-alias\"", alias.bytes,
        ArgumentWord(alias, view), JsonQuoted(StateWord(alias.state)), JsonQuoted(alias.by),
        JsonQuoted(alias.reason));
  }
  text += "],\n";
  begin("donors");
  for (const DonorUse& donor : report.donors) {
    next();
    text += fmt::format(R"({{"parameter":{},"bytes":{},"reason":{}}})", JsonQuoted(donor.parameter),
                        donor.bytes, JsonQuoted(donor.reason));
  }
  text += "],\n";
  begin("allocations");
  for (size_t i = 0; i < report.allocations.size(); ++i) {
    const Allocation& a = report.allocations[i];
    next();
    text += fmt::format(R"({{"kind":"{}","name":{},"bytes":{},"donated":{}}})", KindWord(a.kind),
                        JsonQuoted(report.allocation_names[i]), a.size, a.donated);
  }
  text += "],\n";
  begin("buffers");
  for (const BufferUse& use : report.buffers) {
    next();
    text += fmt::format(
        R"({{"name":{},"opcode":{},"shape":{},"source":{},"allocation":{},"offset":{},"bytes":{},)"
        R"("start":{},"end":{}}})",
        JsonQuoted(use.name), JsonQuoted(use.opcode), JsonQuoted(use.shape), JsonQuoted(use.source),
        use.slice.allocation, use.slice.offset, use.slice.size, use.start, use.end);
  }
  return text + "]}\n";
}

struct MemoryForm {
  std::string_view ending;
  std::string (*text)(const MemoryView&);
};
// The first that fits counts.
constexpr MemoryForm kMemoryForms[] = {
    {".json", MemoryJson}, {".svg", MemorySvg}, {"", MemoryTable}};

absl::StatusOr<std::optional<XlaMemory>> XlaMemoryOf(const JsonValue& root,
                                                     std::string_view module) {
  ASSIGN_OR_RETURN(const std::string_view version, root.GetString("xla"));
  ASSIGN_OR_RETURN(const JsonValue* modules, root.Get("modules", JsonValue::Kind::kObject));
  const JsonValue* const row = modules->Find(module);
  if (row == nullptr) return std::optional<XlaMemory>();
  ASSIGN_OR_RETURN(const int64_t bytes, row->GetInt("temp_bytes"));
  return XlaMemory{bytes, std::string(version)};
}

}  // namespace

std::string OutcomeOf(const AliasUse& alias, const MemoryView& view) {
  std::string text;
  switch (alias.state) {
    case AliasUse::State::kInPlace: text = fmt::format("in place, by `{}`", alias.by); break;
    case AliasUse::State::kCopied:
      text = fmt::format("in its place, but copied there by `{}`: {}", alias.by, alias.reason);
      break;
    case AliasUse::State::kElsewhere:
      text = fmt::format(
          "{}: {}",
          alias.must_alias ? "made elsewhere, copied there after the run" : "not in place",
          alias.reason);
      break;
  }
  if (IsBorrowed(alias, view)) text += "; in a copy of the argument, which is borrowed";
  return text;
}

std::string MemoryText(const MemoryView& view, std::string_view path) {
  const MemoryForm* form = std::begin(kMemoryForms);
  while (!path.ends_with(form->ending)) ++form;
  return form->text(view);
}

absl::StatusOr<std::optional<XlaMemory>> ReadXlaMemory(const std::string& table,
                                                       std::string_view module) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(table));
  const auto source = std::make_shared<const Source>(table, std::move(text));
  absl::StatusOr<JsonDocument> document = ParseJson(source);
  if (!document.ok()) return WithPlacesInText(document.status(), *source);
  auto memory = XlaMemoryOf(document->root, module);
  if (!memory.ok()) return WithPlacesInText(memory.status(), *source);
  return memory;
}

}  // namespace hlo
