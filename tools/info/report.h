// What hlo-info says of a module, before it becomes text, JSON or CSV: sections of facts, each with
// a table.
//
//   Section section("loops");
//   section.Fact("unknown", 2);
//   section.Column("name", Unit::kText).Column("trip_count", Unit::kCount);
//   section.Row({loop->name(), count});
//
// Names of facts and columns are the keys of JSON: words with `_` between them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hlo {

// How text shows a number; JSON and CSV have it as it is.
enum class Unit : uint8_t {
  kText,
  kNumber,   // in full: numbers of things, versions
  kCount,    // 12.3k
  kBytes,    // 1.50MiB
  kShare,    // a part of 1, as percent
  kSeconds,  // 1.2 ms
};

// One thing that is said; without a value it is not known.
class Datum {
 public:
  using Content =
      std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<double>>;

  Datum() = default;
  Datum(bool value) : content_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Datum(T value) : content_(static_cast<int64_t>(value)) {}
  Datum(double value) : content_(value) {}
  Datum(std::string value) : content_(std::move(value)) {}
  Datum(std::string_view value) : content_(std::string(value)) {}
  Datum(const char* value) : content_(std::string(value)) {}
  Datum(std::vector<double> values) : content_(std::move(values)) {}
  template <class T>
  Datum(const std::optional<T>& value) {
    if (value.has_value()) *this = Datum(*value);
  }

  const Content& content() const { return content_; }
  bool is_known() const { return content_.index() != 0; }
  // Zero, false, empty: text leaves such facts out.
  bool IsNothing() const;

 private:
  Content content_;
};

struct ReportFact {
  std::string_view name;
  Unit unit;
  Datum value;
};

struct ReportColumn {
  std::string_view name;
  Unit unit;
};

class Section {
 public:
  explicit Section(std::string_view name) : name_(name) {}

  void Fact(std::string_view name, Datum value, Unit unit = Unit::kCount);
  Section& Column(std::string_view name, Unit unit);
  // As many values as there are columns.
  void Row(std::vector<Datum> values);

  std::string_view name() const { return name_; }
  const std::vector<ReportFact>& facts() const { return facts_; }
  const std::vector<ReportColumn>& columns() const { return columns_; }
  const std::vector<std::vector<Datum>>& rows() const { return rows_; }
  // Rows that KeepTop left out.
  size_t dropped() const { return dropped_; }
  // Whether there is nothing to say: no rows, and no facts but empty ones.
  bool IsEmpty() const;

  // Rows with more of a column come first, unknown ones last; else the order stays.
  void SortBy(std::string_view column);
  // Keeps the rows of which `keep` holds.
  template <class Keep>
  void KeepRows(const Keep& keep) {
    std::erase_if(rows_, [&](const std::vector<Datum>& row) { return !keep(row); });
  }
  void KeepTop(size_t count);

 private:
  std::string_view name_;
  std::vector<ReportFact> facts_;
  std::vector<ReportColumn> columns_;
  std::vector<std::vector<Datum>> rows_;
  size_t dropped_ = 0;
};

struct ModuleReport {
  std::string file;
  std::string module;
  std::vector<Section> sections;
};

}  // namespace hlo
