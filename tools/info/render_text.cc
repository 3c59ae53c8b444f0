#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lib/support/byte_count.h"
#include "tools/info/render.h"

namespace hlo {
namespace {

constexpr size_t kWidestCell = 72;  // of text; the table stays readable beside long shapes
constexpr std::string_view kUnknown = "?";

// The number with three digits; each unit is a thousand of the one before.
std::string Scaled(double number, std::span<const std::string_view> units) {
  size_t unit = 0;
  while (std::abs(number) >= 999.5 && unit + 1 < units.size()) {
    number /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", number, units[unit]);
}

std::string BytesText(double bytes) {
  constexpr double kMost = 9e18;  // of ByteCountText
  return bytes < kMost ? ByteCountText(static_cast<int64_t>(bytes)) : fmt::format("{:.3g}B", bytes);
}

std::string NumberText(double number, Unit unit, bool exact) {
  if (exact && unit != Unit::kShare) return fmt::format("{}", number);
  switch (unit) {
    case Unit::kText:
    case Unit::kNumber: return fmt::format("{}", number);
    case Unit::kCount: return CountText(number);
    case Unit::kBytes: return BytesText(number);
    case Unit::kShare: return fmt::format("{:.1f}%", number * 100);
    case Unit::kSeconds: return SecondsText(number);
  }
  return "";
}

class CellText {
 public:
  CellText(Unit unit, bool exact) : unit_(unit), exact_(exact) {}

  std::string operator()(std::monostate) const { return std::string(kUnknown); }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(int64_t value) const {
    if (exact_ || unit_ == Unit::kNumber) return fmt::format("{}", value);
    return NumberText(static_cast<double>(value), unit_, exact_);
  }
  std::string operator()(double value) const { return NumberText(value, unit_, exact_); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (const double value : values)
      text += (text.empty() ? "" : " + ") + NumberText(value, unit_, exact_);
    return text;
  }

 private:
  Unit unit_;
  bool exact_;
};

std::string TextOf(const Datum& value, Unit unit, bool exact) {
  return std::visit(CellText(unit, exact), value.content());
}

std::string Title(std::string_view name) {
  std::string title(name);
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

// Columns on the screen: characters of UTF-8 count one each.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Clipped(std::string text, bool exact) {
  if (exact || Width(text) <= kWidestCell) return text;
  size_t end = kWidestCell - 1;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void AppendPadded(const std::string& text, size_t width, bool to_the_right, std::string& out) {
  const std::string blanks(width - std::min(width, Width(text)), ' ');
  out += to_the_right ? blanks + text : text + blanks;
}

// Columns in which some row has something, and those that number the rows.
std::vector<size_t> ShownColumns(const Section& section) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < section.columns().size(); ++i) {
    const bool is_empty =
        std::all_of(section.rows().begin(), section.rows().end(),
                    [i](const std::vector<Datum>& row) { return row[i].IsNothing(); });
    if (!is_empty || i == 0 || section.columns()[i].unit == Unit::kNumber) shown.push_back(i);
  }
  return shown;
}

void AppendTable(const Section& section, bool exact, std::string& out) {
  const std::vector<size_t> shown = ShownColumns(section);
  std::vector<std::vector<std::string>> lines(section.rows().size() + 1);
  std::vector<size_t> widths;
  for (const size_t column : shown) {
    const ReportColumn& head = section.columns()[column];
    lines[0].push_back(Title(head.name));
    size_t width = Width(lines[0].back());
    for (size_t row = 0; row < section.rows().size(); ++row) {
      lines[row + 1].push_back(
          Clipped(TextOf(section.rows()[row][column], head.unit, exact), exact));
      width = std::max(width, Width(lines[row + 1].back()));
    }
    widths.push_back(width);
  }
  for (const std::vector<std::string>& line : lines) {
    std::string text = " ";
    for (size_t i = 0; i < line.size(); ++i) {
      text += ' ';
      AppendPadded(line[i], widths[i], section.columns()[shown[i]].unit != Unit::kText, text);
      text += ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
}

void AppendSection(const Section& section, const TextOptions& options, std::string& out) {
  out += Title(section.name()) + "\n";
  size_t width = 0;
  for (const ReportFact& fact : section.facts()) width = std::max(width, fact.name.size());
  for (const ReportFact& fact : section.facts()) {
    if (fact.value.IsNothing()) continue;
    out += fmt::format("  {:<{}}  {}\n", Title(fact.name), width,
                       TextOf(fact.value, fact.unit, options.exact));
  }
  if (!section.rows().empty()) AppendTable(section, options.exact, out);
  if (section.dropped() > 0)
    out += fmt::format("  … {} more (--top=0 shows all)\n", section.dropped());
  if (section.IsEmpty()) out += "  none\n";
}

}  // namespace

std::string CountText(double count) {
  static constexpr std::string_view kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  constexpr double kShort = 1e5;  // up to which it is shown in full
  if (std::abs(count) < kShort && count == std::floor(count)) return fmt::format("{}", count);
  return Scaled(count, kUnits);
}

std::string SecondsText(double seconds) {
  static constexpr std::string_view kUnits[] = {" ns", " us", " ms", " s"};
  return Scaled(seconds * 1e9, kUnits);
}

std::string ToText(const ModuleReport& report, const TextOptions& options) {
  std::string out = fmt::format("{}: {}\n", report.file, report.module);
  for (const Section& section : report.sections) {
    if (section.IsEmpty() && !options.all) continue;
    out += '\n';
    AppendSection(section, options, out);
  }
  return out;
}

std::string ToTable(const std::vector<ModuleReport>& reports, const TextOptions& options) {
  const Section& first = reports.front().sections.front();
  Section table(first.name());
  table.Column("file", Unit::kText).Column("module", Unit::kText);
  for (const ReportFact& fact : first.facts()) table.Column(fact.name, fact.unit);
  for (const ModuleReport& report : reports) {
    std::vector<Datum> row = {report.file, report.module};
    for (const ReportFact& fact : report.sections.front().facts()) row.push_back(fact.value);
    table.Row(std::move(row));
  }
  std::string out;
  AppendSection(table, options, out);
  return out;
}

}  // namespace hlo
