#include "tools/opt/reports.h"

#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

using Remark = PassContext::Remark;

std::string_view Word(Remark kind) {
  switch (kind) {
    case Remark::kPassed: return "passed";
    case Remark::kMissed: return "missed";
    case Remark::kAnalysis: return "analysis";
  }
  return "";
}

// In single quotes, as YAML wants any text.
std::string YamlQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

}  // namespace

absl::StatusOr<RemarkFilter> RemarkFilter::Parse(std::string_view text) {
  RemarkFilter filter;
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    filter.contains_ = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  static constexpr std::string_view kWords[] = {"passed", "missed", "analysis", "all"};
  for (const std::string_view word : Split(text, ',')) {
    const bool all = word == "all" || word.empty();
    if (!all && word != "passed" && word != "missed" && word != "analysis")
      return Error("expected passed, missed, analysis or all, found `{}`{}", word,
                   DidYouMean(word, kWords));
    filter.passed_ |= all || word == "passed";
    filter.missed_ |= all || word == "missed";
    filter.analysis_ |= all || word == "analysis";
  }
  return filter;
}

bool RemarkFilter::Shows(const PassContext::RemarkEntry& remark) const {
  const bool kind = remark.kind == Remark::kPassed   ? passed_
                    : remark.kind == Remark::kMissed ? missed_
                                                     : analysis_;
  return kind && (contains_.empty() || remark.pass.find(contains_) != std::string::npos ||
                  remark.message.find(contains_) != std::string::npos);
}

std::string RemarkText(const PassContext::RemarkEntry& remark, const Source& source,
                       const LineTable& lines) {
  std::string place;
  if (remark.loc.known()) {
    const LineColumn at = lines.Locate(remark.loc.offset);
    place = fmt::format("{}:{}:{}: ", source.name(), at.line, at.column);
  }
  return fmt::format("{}remark: {}: {} `{}`: {}\n", place, remark.pass, Word(remark.kind),
                     remark.instruction, remark.message);
}

std::string RemarkYaml(const PassContext::RemarkEntry& remark, const Source& source,
                       const LineTable& lines) {
  const std::string_view tag = remark.kind == Remark::kPassed   ? "Passed"
                               : remark.kind == Remark::kMissed ? "Missed"
                                                                : "Analysis";
  std::string out = fmt::format("--- !{}\nPass: {}\nName: {}\n", tag, YamlQuoted(remark.pass),
                                YamlQuoted(remark.instruction));
  if (remark.loc.known()) {
    const LineColumn at = lines.Locate(remark.loc.offset);
    out += fmt::format("DebugLoc: {{ File: {}, Line: {}, Column: {} }}\n",
                       YamlQuoted(source.name()), at.line, at.column);
  }
  return out + fmt::format("Args:\n  - String: {}\n...\n", YamlQuoted(remark.message));
}

std::string StatsText(const PassContext& context) {
  std::string out;
  for (const auto& [key, count] : context.counts()) {
    if (count != 0) out += fmt::format("{:>10} {}: {}\n", count, key.first, key.second);
  }
  return out;
}

std::string StatsJson(const PassContext& context) {
  std::string out = "{";
  std::string_view pass;
  for (const auto& [key, count] : context.counts()) {
    if (count == 0) continue;
    if (key.first != pass || out.size() == 1) {
      if (out.size() > 1) out += "},";
      out += JsonQuoted(key.first) + ":{";
    } else {
      out += ',';
    }
    pass = key.first;
    out += fmt::format("{}:{}", JsonQuoted(key.second), count);
  }
  return out + (out.size() > 1 ? "}}" : "}");
}

std::string TimesJson(const PipelineResult& result) {
  std::string out = "[";
  for (const PassRun& run : result.runs) {
    if (out.size() > 1) out += ',';
    out += fmt::format(
        R"({{"pass":{},"ms":{:.6g},"cpu_ms":{:.6g},"changed":{},"skipped":{},"instructions_before":{},"instructions_after":{},"peak_bytes":{}{}}})",
        JsonQuoted(run.name), run.milliseconds, run.processor_ms, run.changed, run.skipped,
        run.instructions_before, run.instructions_after, run.peak_bytes,
        run.dump.empty() ? "" : R"(,"file":)" + JsonQuoted(run.dump));
  }
  return out + "]";
}

std::string RemarksJson(const PassContext& context) {
  std::string out = "[";
  for (const PassContext::RemarkEntry& remark : context.remarks()) {
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({{"kind":"{}","pass":{},"instruction":{},"message":{}}})",
                       Word(remark.kind), JsonQuoted(remark.pass), JsonQuoted(remark.instruction),
                       JsonQuoted(remark.message));
  }
  return out + "]";
}

std::string ReportJson(const PipelineResult& result, const PassContext& context) {
  return fmt::format(R"({{"schema":1,"passes":{},"verify_ms":{:.6g},"stats":{},"remarks":{}}})"
                     "\n",
                     TimesJson(result), result.verify_milliseconds, StatsJson(context),
                     RemarksJson(context));
}

}  // namespace hlo
