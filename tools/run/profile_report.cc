#include "tools/run/profile_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/support/json_value.h"
#include "tools/run/run_report.h"
#include "tools/run/timeline.h"

namespace hlo {
namespace {

constexpr size_t kMostInTable = 40;

struct Form {
  std::string_view ending;
  std::string (*text)(const Profile&);
};
// The first that fits counts.
constexpr Form kForms[] = {{".trace.json", ProfileTrace},
                           {".json", ProfileJson},
                           {".csv", ProfileCsv},
                           {".svg", RooflineSvg},
                           {"", ProfileTable}};

// The numbers of a row, as JSON and CSV name them.
struct Number {
  std::string_view name;
  double ProfileRow::*value;
  bool is_timed = false;  // without a clock there is none
};
constexpr Number kNumbers[] = {{"calls", &ProfileRow::calls},
                               {"min_ms", &ProfileRow::min_ms, true},
                               {"median_ms", &ProfileRow::median_ms, true},
                               {"p95_ms", &ProfileRow::p95_ms, true},
                               {"run_ms", &ProfileRow::run_ms, true},
                               {"share", &ProfileRow::share},
                               {"flops", &ProfileRow::flops},
                               {"bytes", &ProfileRow::bytes},
                               {"least_ms", &ProfileRow::least_ms},
                               {"roofline", &ProfileRow::roofline, true}};

template <class Fn>
void ForEachNumber(const Profile& profile, const Fn& fn) {
  for (const Number& number : kNumbers) {
    if (profile.is_timed || !number.is_timed) fn(number);
  }
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Clipped(const std::string& shape) {
  constexpr size_t kMost = 40;
  return shape.size() <= kMost ? shape : shape.substr(0, kMost - 3) + "...";
}

std::string OperationText(const ProfileRow& row) {
  return fmt::format("{} {}{}{}\n", row.kind, row.name,
                     row.shape.empty() ? "" : " " + Clipped(row.shape),
                     row.source.empty() ? "" : "  " + row.source);
}

std::string TableLine(const ProfileRow& row) {
  const double seconds = row.median_ms / 1000;
  const bool computes = row.flops > 0 && seconds > 0, moves = row.bytes > 0 && seconds > 0;
  return fmt::format(
      "{:>7} {:>10} {:>7.6g} {:>9} {:>9} {:>9} {:>15} {:>11} {:>8}  {}", Percent(row.share),
      TimeText(row.run_ms), row.calls, TimeText(row.min_ms), TimeText(row.median_ms),
      TimeText(row.p95_ms), computes ? RateText(row.flops / seconds, "FLOP/s") : "-",
      moves ? RateText(row.bytes / seconds, "B/s") : "-",
      row.roofline > 0 ? fmt::format("{:.0f} %", 100 * row.roofline) : "-", OperationText(row));
}

std::string UntimedLine(const ProfileRow& row) {
  return fmt::format("{:>7} {:>10} {:>7.6g} {:>12} {:>11}  {}", Percent(row.share),
                     TimeText(row.run_ms), row.calls,
                     row.flops > 0 ? RateText(row.flops, "FLOP") : "-",
                     row.bytes > 0 ? RateText(row.bytes, "B") : "-", OperationText(row));
}

std::string CsvQuoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

std::string ProfileText(const Profile& profile, std::string_view path) {
  const Form* form = std::begin(kForms);
  while (!path.ends_with(form->ending)) ++form;
  return form->text(profile);
}

std::string ProfileTable(const Profile& profile) {
  std::string text;
  if (profile.is_timed) {
    text += ToString(profile.peaks, profile.platform);
    text += fmt::format("{:>7} {:>10} {:>7} {:>9} {:>9} {:>9} {:>15} {:>11} {:>8}  {}\n", "share",
                        "in a run", "calls", "min", "median", "p95", "computes", "moves", "of roof",
                        "operation");
  } else {
    text += fmt::format("{:>7} {:>10} {:>7} {:>12} {:>11}  {}\n", "share", "at least", "calls",
                        "computes", "moves", "operation");
  }
  double rest = 0;
  for (size_t i = 0; i < profile.rows.size(); ++i) {
    if (i < kMostInTable) {
      text += profile.is_timed ? TableLine(profile.rows[i]) : UntimedLine(profile.rows[i]);
    } else {
      rest += profile.rows[i].share;
    }
  }
  if (profile.rows.size() > kMostInTable) {
    text += fmt::format("{:>7} of {} other operations, which .json and .csv have\n", Percent(rest),
                        profile.rows.size() - kMostInTable);
  }
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.run_ms;
  if (profile.is_timed) {
    text += fmt::format("{} in operations; a run {} (median of {}), with a clock around each\n",
                        TimeText(sum), TimeText(profile.run_ms), profile.runs);
  } else {
    text += fmt::format(
        "{} in operations at least, by {} and {} of the GPU (tensor cores aside); a simulator has "
        "no times\n",
        TimeText(sum), RateText(profile.peaks.flops, "FLOP/s"),
        RateText(profile.peaks.bytes, "B/s"));
  }
  if (profile.devices > 1) {
    text += fmt::format("of {} devices: calls, and times in a run, are those of one\n",
                        profile.devices);
  }
  return text;
}

std::string ProfileJson(const Profile& profile) {
  std::string narrow;
  for (const auto& [type, flops] : profile.peaks.narrow)
    narrow += fmt::format(R"(,"flops_of_{}":{:.6g})", Text(type), flops);
  std::string text = fmt::format(
      R"({{"schema":1,"platform":{},"module":{},"devices":{},"runs":{},"run_ms":{:.6g},"timed":{},)"
      R"("peaks":{{"flops":{:.6g},"memory_bytes":{:.6g},"cache_bytes":{:.6g}{}}},"rows":[)",
      JsonQuoted(profile.platform), JsonQuoted(profile.module), profile.devices, profile.runs,
      profile.run_ms, profile.is_timed, profile.peaks.flops, profile.peaks.bytes,
      profile.peaks.BytesAt(0), narrow);
  for (const ProfileRow& row : profile.rows) {
    text += text.back() == '[' ? "\n" : ",\n";
    text += fmt::format(R"({{"name":{},"kind":{},"shape":{},"source":{})", JsonQuoted(row.name),
                        JsonQuoted(row.kind), JsonQuoted(row.shape), JsonQuoted(row.source));
    ForEachNumber(profile, [&](const Number& number) {
      text += fmt::format(",\"{}\":{:.6g}", number.name, row.*number.value);
    });
    text += '}';
  }
  return text + "]}\n";
}

std::string ProfileCsv(const Profile& profile) {
  std::string text = "name,kind,shape,source";
  ForEachNumber(profile, [&](const Number& number) { text += fmt::format(",{}", number.name); });
  text += '\n';
  for (const ProfileRow& row : profile.rows) {
    text += fmt::format("{},{},{},{}", CsvQuoted(row.name), CsvQuoted(row.kind),
                        CsvQuoted(row.shape), CsvQuoted(row.source));
    ForEachNumber(profile,
                  [&](const Number& number) { text += fmt::format(",{:.6g}", row.*number.value); });
    text += '\n';
  }
  return text;
}

std::string ProfileTrace(const Profile& profile) {
  TraceProcess process{profile.module + " on " + profile.platform, profile.tracks, {}};
  for (const ProfileEvent& event : profile.events) {
    const ProfileRow& row = profile.rows[event.row];
    process.slices.push_back({event.track, event.start_ms, event.ms, row.name, row.kind, row.shape,
                              row.source, row.flops, row.bytes});
  }
  return TraceText({process});
}

}  // namespace hlo
