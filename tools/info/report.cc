#include "tools/info/report.h"

#include <algorithm>
#include <limits>

#include "lib/support/check.h"

namespace hlo {
namespace {

double NumberOf(const Datum& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.content())) return *number;
  return -std::numeric_limits<double>::infinity();
}

struct IsZero {
  bool operator()(std::monostate) const { return false; }
  bool operator()(bool value) const { return !value; }
  bool operator()(int64_t value) const { return value == 0; }
  bool operator()(double value) const { return value == 0; }
  bool operator()(const std::string& value) const { return value.empty(); }
  bool operator()(const std::vector<double>& values) const { return values.empty(); }
};

}  // namespace

bool Datum::IsNothing() const { return std::visit(IsZero(), content_); }

void Section::Fact(std::string_view name, Datum value, Unit unit) {
  facts_.push_back({name, unit, std::move(value)});
}

Section& Section::Column(std::string_view name, Unit unit) {
  columns_.push_back({name, unit});
  return *this;
}

void Section::Row(std::vector<Datum> values) {
  HLO_CHECK(values.size() == columns_.size());
  rows_.push_back(std::move(values));
}

bool Section::IsEmpty() const {
  return rows_.empty() && dropped_ == 0 &&
         std::all_of(facts_.begin(), facts_.end(),
                     [](const ReportFact& fact) { return fact.value.IsNothing(); });
}

void Section::SortBy(std::string_view column) {
  const auto it =
      std::find_if(columns_.begin(), columns_.end(),
                   [column](const ReportColumn& other) { return other.name == column; });
  HLO_CHECK(it != columns_.end());
  const auto at = static_cast<size_t>(it - columns_.begin());
  std::stable_sort(rows_.begin(), rows_.end(),
                   [at](const std::vector<Datum>& a, const std::vector<Datum>& b) {
                     return NumberOf(a[at]) > NumberOf(b[at]);
                   });
}

void Section::KeepTop(size_t count) {
  if (rows_.size() <= count) return;
  dropped_ += rows_.size() - count;
  rows_.resize(count);
}

}  // namespace hlo
