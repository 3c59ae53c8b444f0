#include "tools/support/mismatch_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Number = std::complex<double>;

// A pattern is looked for in so many elements; more take too long.
constexpr int64_t kMostElements = int64_t{1} << 22;
// Arrays that are moved, scaled or shifted agree to this relative error.
constexpr double kAlike = 1e-3;
constexpr int64_t kMostShift = 8;
constexpr int64_t kMostPeriod = 256;

std::vector<Number> NumbersIn(const Literal& array) {
  std::vector<Number> numbers(static_cast<size_t>(array.element_count()));
  const ElementType type = array.element_type();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (IsComplex(type)) {
      numbers[i] = array.GetComplex(at);
    } else if (IsFloat(type)) {
      numbers[i] = array.GetDouble(at);
    } else {
      numbers[i] = static_cast<double>(array.GetInt(at));
    }
  }
  return numbers;
}

bool IsFinite(Number x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
bool IsNan(Number x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
bool Alike(Number a, Number b) {
  if (a == b || (IsNan(a) && IsNan(b))) return true;
  return std::abs(a - b) <= kAlike * std::max(std::abs(a), std::abs(b));
}

class HintFinder {
 public:
  HintFinder(const Literal& actual, const Literal& expected, const CompareReport& report)
      : report_(report),
        dims_(expected.shape().dims().begin(), expected.shape().dims().end()),
        actual_(NumbersIn(actual)),
        expected_(NumbersIn(expected)) {}

  std::string Run() {
    Sizes();
    if (NotNumbers()) return text_;
    Values();
    Places();
    Agreement();
    return text_;
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> form, Args&&... args) {
    text_ += "  " + fmt::format(form, std::forward<Args>(args)...) + "\n";
  }

  // ---- how many, how large ----

  void Sizes() {
    constexpr std::array<double, 4> kLimits = {1e-4, 1e-2, 1e-1, 1};
    std::array<int64_t, kLimits.size() + 1> counts = {};
    int64_t infinite = 0;
    for (const int64_t place : report_.places) {
      const Number a = actual_[static_cast<size_t>(place)],
                   e = expected_[static_cast<size_t>(place)];
      if (!IsFinite(a) || !IsFinite(e)) {
        ++infinite;
        continue;
      }
      const double relative =
          e == 0.0 ? std::numeric_limits<double>::infinity() : std::abs(a - e) / std::abs(e);
      ++counts[static_cast<size_t>(std::upper_bound(kLimits.begin(), kLimits.end(), relative) -
                                   kLimits.begin())];
    }
    std::string parts;
    const auto part = [&](int64_t count, std::string_view what) {
      if (count > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, what);
    };
    part(counts[0], "below 0.0001");
    part(counts[1], "below 0.01");
    part(counts[2], "below 0.1");
    part(counts[3], "below 1");
    part(counts[4], "of 1 or more");
    part(infinite, "NaN or infinite on one side");
    Line("{:.3g} % differ; relative errors: {}{}",
         100.0 * static_cast<double>(report_.mismatched) / static_cast<double>(report_.compared),
         parts, IsComplete() ? "" : fmt::format(" (of the first {})", report_.places.size()));
  }

  bool IsComplete() const { return std::ssize(report_.places) == report_.mismatched; }

  // ---- what is wrong with the values ----

  bool NotNumbers() {
    const bool are_nan =
        std::all_of(report_.places.begin(), report_.places.end(), [&](int64_t place) {
          const auto at = static_cast<size_t>(place);
          return IsNan(actual_[at]) && !IsNan(expected_[at]);
        });
    if (are_nan) Line("all of them are NaN where a number is expected");
    return are_nan;
  }

  void Values() {
    if (std::ssize(actual_) > kMostElements || actual_.size() < 2) return;
    if (Scaled() || Offset() || Swapped()) return;
    Moved();
  }

  bool Scaled() {
    std::optional<Number> factor;
    for (size_t i = 0; i < actual_.size(); ++i) {
      if (expected_[i] == 0.0 || !IsFinite(expected_[i]) || !IsFinite(actual_[i])) {
        if (!Alike(actual_[i], expected_[i])) return false;
        continue;
      }
      if (!factor) factor = actual_[i] / expected_[i];
      if (!Alike(actual_[i], *factor * expected_[i])) return false;
    }
    if (!factor || Alike(*factor, 1)) return false;
    if (*factor == 0.0) {
      Line("all values are 0");
    } else if (factor->imag() == 0) {
      Line("every value is {:.6g} times what is expected", factor->real());
    } else {
      Line("every value is {:.6g}{:+.6g}i times what is expected", factor->real(), factor->imag());
    }
    return true;
  }

  bool Offset() {
    const Number offset = actual_[0] - expected_[0];
    if (!IsFinite(offset) || offset == 0.0) return false;
    for (size_t i = 0; i < actual_.size(); ++i) {
      const double room = kAlike * std::max(std::abs(offset), 1e-3 * std::abs(expected_[i]));
      if (!(std::abs(actual_[i] - expected_[i] - offset) <= room)) return false;
    }
    Line("every value is {:.6g}{} more than what is expected", offset.real(),
         offset.imag() == 0 ? "" : fmt::format("{:+.6g}i", offset.imag()));
    return true;
  }

  // Two dimensions of one size in each other's place.
  bool Swapped() {
    for (size_t i = 0; i < dims_.size(); ++i) {
      for (size_t j = i + 1; j < dims_.size(); ++j) {
        if (dims_[i] != dims_[j] || dims_[i] < 2) continue;
        const auto swapped = [&](DimVec& index) { std::swap(index[i], index[j]); };
        if (!ComeFrom(swapped)) continue;
        Line("dimensions {} and {} are in each other's place", i, j);
        return true;
      }
    }
    return false;
  }

  // Backwards, or some places further, along a dimension.
  void Moved() {
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int64_t size = dims_[d];
      if (size < 2) continue;
      if (ComeFrom([&](DimVec& index) { index[d] = size - 1 - index[d]; }))
        return Line("values are in reverse order along dimension {}", d);
      for (int64_t by = 1; by <= std::min(kMostShift, size / 2); ++by) {
        if (ComeFrom([&](DimVec& index) { index[d] += by; }))
          return Line("values along dimension {} belong {} further on", d, by);
        if (ComeFrom([&](DimVec& index) { index[d] -= by; }))
          return Line("values along dimension {} belong {} further back", d, by);
      }
    }
  }

  // Whether each value is the expected one of another place; places outside do not count.
  template <class Move>
  bool ComeFrom(const Move& move) const {
    DimVec index(dims_.size(), 0);
    size_t linear = 0;
    int64_t seen = 0;
    bool differs = false;
    do {
      DimVec from = index;
      move(from);
      bool inside = true;
      for (size_t d = 0; d < from.size(); ++d)
        inside = inside && from[d] >= 0 && from[d] < dims_[d];
      if (inside) {
        const Number there = expected_[static_cast<size_t>(LinearIndex(from, dims_))];
        if (!Alike(actual_[linear], there)) return false;
        differs = differs || !Alike(there, expected_[linear]);
        ++seen;
      }
      ++linear;
    } while (NextIndex(absl::MakeSpan(index), dims_));
    return differs && 2 * seen >= std::ssize(actual_);
  }

  // ---- where ----

  void Places() {
    if (!IsComplete() || report_.mismatched == report_.compared) return;
    for (size_t d = 0; d < dims_.size(); ++d) {
      int64_t low = dims_[d], high = -1;
      std::vector<int64_t> along;
      for (const int64_t place : report_.places) {
        const int64_t at = MultiIndex(place, dims_)[d];
        low = std::min(low, at);
        high = std::max(high, at);
        along.push_back(at);
      }
      if (dims_[d] < 2) continue;
      if (low == high) {
        Line("all of them are where index {} is {} (of {})", d, low, dims_[d]);
      } else if (low > 0 && high == dims_[d] - 1) {
        Line("all of them are where index {} is {} or more (of {})", d, low, dims_[d]);
      } else if (high < dims_[d] - 1) {
        Line("all of them are where index {} is from {} to {} (of {})", d, low, high, dims_[d]);
      }
      Period(d, along);
    }
  }

  // Every nth place.
  void Period(size_t d, const std::vector<int64_t>& along) {
    int64_t step = 0;
    for (const int64_t at : along) step = std::gcd(step, at - along[0]);
    step = std::abs(step);
    if (step < 2 || step > kMostPeriod) return;
    Line("index {} is {} modulo {} in all of them", d, along[0] % step, step);
  }

  // ---- which tolerance would do ----

  void Agreement() {
    double abs = 0, rel = 0;
    for (const int64_t place : report_.places) {
      const Number a = actual_[static_cast<size_t>(place)],
                   e = expected_[static_cast<size_t>(place)];
      abs = std::max(abs, std::abs(a - e));
      rel = std::max(
          rel, e == 0.0 ? std::numeric_limits<double>::infinity() : std::abs(a - e) / std::abs(e));
    }
    if (!IsComplete() || !std::isfinite(abs) || std::isnan(abs)) return;
    Line("would agree with --abs={:.2g}{}", RoundedUp(abs),
         std::isfinite(rel) ? fmt::format(" or --rel={:.2g}", RoundedUp(rel)) : "");
  }

  // To two digits.
  static double RoundedUp(double x) {
    const double unit = std::pow(10, std::floor(std::log10(x)) - 1);
    return std::ceil(x / unit) * unit;
  }

  const CompareReport& report_;
  const DimVec dims_;
  const std::vector<Number> actual_, expected_;
  std::string text_;
};

}  // namespace

std::string MismatchHints(const Literal& actual, const Literal& expected,
                          const CompareReport& report) {
  if (report.mismatched == 0 || report.places.empty() || report.compared == 0) return "";
  return HintFinder(actual, expected, report).Run();
}

}  // namespace hlo
