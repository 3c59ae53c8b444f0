// lib/types/literal_compare.cc
#include "lib/types/literal_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lib/types/element_access.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Errors of one element.
struct Errors {
  double abs = 0;
  double rel = 0;
  double ulp = 0;
};

// Mantissa bits and the exponent of the smallest normal value of a float type.
struct Grid {
  int mantissa_bits = 0;
  int min_exponent = 0;
};

Grid GridOf(ElementType type) {
  Grid grid;
  WithNativeType(type, [&]<class T>() {
    if constexpr (requires(T value) { value.bits; }) {
      grid = {T::kMantissaBits, 1 - T::kBias};
    } else if constexpr (std::is_floating_point_v<T>) {
      grid = {std::numeric_limits<T>::digits - 1, std::numeric_limits<T>::min_exponent - 1};
    }
  });
  return grid;
}

// The distance of neighbours of the type around `value`.
double UnitInLastPlace(double value, const Grid& grid) {
  if (value == 0) return std::ldexp(1.0, grid.min_exponent - grid.mantissa_bits);
  return std::ldexp(1.0, std::max(std::ilogb(value), grid.min_exponent) - grid.mantissa_bits);
}

// The number of steps between neighbours from one value to the other.
double UlpDistance(double actual, double expected, const Grid& grid) {
  if (std::signbit(actual) != std::signbit(expected)) {
    return UlpDistance(std::abs(actual), 0, grid) + UlpDistance(std::abs(expected), 0, grid);
  }
  const double low = std::min(std::abs(actual), std::abs(expected));
  const double high = std::max(std::abs(actual), std::abs(expected));
  // A value is its mantissa, counted in units, in its binade; denormals share the binade of the
  // smallest normals. Apart, both numbers are exact in a double, even for f64.
  const auto binade = [&](double value) {
    return value == 0 ? 0 : std::max(std::ilogb(value) - grid.min_exponent, 0);
  };
  const double steps = high / UnitInLastPlace(high, grid) - low / UnitInLastPlace(low, grid);
  return steps + (binade(high) - binade(low)) * std::ldexp(1.0, grid.mantissa_bits);
}

class Comparer {
 public:
  Comparer(const Tolerance& tolerance, int max_reported, CompareReport& report)
      : tolerance_(tolerance), max_reported_(max_reported), report_(report) {}

  void Run(const Literal& actual, const Literal& expected) {
    if (actual.is_elided() || expected.is_elided()) {
      report_.shape_error = "one of the values is elided (`{...}`) and has no data";
      return;
    }
    if (actual.shape().IsTuple()) {
      for (int i = 0; i < actual.shape().element_count_of_tuple(); ++i) {
        leaf_.push_back(i);
        Run(actual.element(i), expected.element(i));
        leaf_.pop_back();
      }
      return;
    }
    if (!actual.shape().IsArray()) return;
    const ElementType type = actual.element_type();
    if (IsInteger(type) || IsPred(type)) {
      RunIntegers(actual, expected);
    } else {
      RunFloats(actual, expected);
    }
  }

 private:
  static constexpr int64_t kBlock = 512;
  static constexpr int64_t kMaxPlaces = 1 << 16;

  void RunIntegers(const Literal& actual, const Literal& expected) {
    const bool is_unsigned = IsUnsigned(actual.element_type());
    const int size = ByteSize(actual.element_type());
    int64_t a[kBlock], e[kBlock];
    for (int64_t at = 0; at < actual.element_count(); at += kBlock) {
      const int64_t n = std::min(kBlock, actual.element_count() - at);
      ReadInts(actual.element_type(), actual.data() + at * size, n, a);
      ReadInts(actual.element_type(), expected.data() + at * size, n, e);
      for (int64_t i = 0; i < n; ++i) {
        if (a[i] == e[i]) continue;
        const bool less =
            is_unsigned ? static_cast<uint64_t>(a[i]) < static_cast<uint64_t>(e[i]) : a[i] < e[i];
        const uint64_t distance = less ? static_cast<uint64_t>(e[i]) - static_cast<uint64_t>(a[i])
                                       : static_cast<uint64_t>(a[i]) - static_cast<uint64_t>(e[i]);
        const double magnitude = is_unsigned ? static_cast<double>(static_cast<uint64_t>(e[i]))
                                             : std::abs(static_cast<double>(e[i]));
        Errors errors;
        errors.abs = static_cast<double>(distance);
        errors.ulp = errors.abs;
        errors.rel = magnitude == 0 ? kInfinity : errors.abs / magnitude;
        const double allowed = tolerance_.abs + tolerance_.rel * magnitude;
        const bool passes = tolerance_.abs >= 1 && errors.abs <= allowed;
        Record(actual, expected, at + i, errors, passes);
      }
      report_.compared += n;
    }
  }

  void RunFloats(const Literal& actual, const Literal& expected) {
    using Complex = std::complex<double>;
    const ElementType type = actual.element_type();
    const Grid grid = GridOf(ComponentType(type));
    const bool refuses_infinities = tolerance_.infinities == SpecialValues::kError;
    const int size = ByteSize(type);
    Complex a[kBlock], e[kBlock];
    for (int64_t at = 0; at < actual.element_count(); at += kBlock) {
      const int64_t n = std::min(kBlock, actual.element_count() - at);
      ReadComplexes(type, actual.data() + at * size, n, a);
      ReadComplexes(type, expected.data() + at * size, n, e);
      for (int64_t i = 0; i < n; ++i) {
        if (a[i] == e[i] && !(refuses_infinities && IsInfinite(a[i]))) continue;
        const bool passes = IsComplex(type) ? CompareComplex(a[i], e[i], grid)
                                            : ComparePart(a[i].real(), e[i].real(), grid, current_);
        if (passes && (IsNan(a[i]) || IsNan(e[i]))) ++report_.nans;
        Record(actual, expected, at + i, current_, passes);
      }
      report_.compared += n;
    }
  }

  static bool IsNan(std::complex<double> value) {
    return std::isnan(value.real()) || std::isnan(value.imag());
  }
  static bool IsInfinite(std::complex<double> value) {
    return std::isinf(value.real()) || std::isinf(value.imag());
  }

  // One real number. Fills `errors`.
  bool ComparePart(double actual, double expected, const Grid& grid, Errors& errors) const {
    errors = {};
    const bool has_nan = std::isnan(actual) || std::isnan(expected);
    if (has_nan || std::isinf(actual) || std::isinf(expected)) {
      const bool is_equal = actual == expected || (std::isnan(actual) && std::isnan(expected));
      const SpecialValues rule = has_nan ? tolerance_.nans : tolerance_.infinities;
      if (rule == SpecialValues::kAny || (is_equal && rule == SpecialValues::kEqual)) return true;
      errors = {kInfinity, kInfinity, kInfinity};
      return false;
    }
    if (actual == expected) return true;
    errors.abs = std::abs(actual - expected);
    errors.rel = expected == 0 ? kInfinity : errors.abs / std::abs(expected);
    errors.ulp = UlpDistance(actual, expected, grid);
    return errors.abs <= tolerance_.abs + tolerance_.rel * std::abs(expected) ||
           errors.ulp <= static_cast<double>(tolerance_.ulps);
  }

  // Both parts must pass, or the distance in the plane must be within the tolerance of the
  // magnitude.
  bool CompareComplex(std::complex<double> actual, std::complex<double> expected,
                      const Grid& grid) {
    Errors real, imag;
    const bool parts_pass = ComparePart(actual.real(), expected.real(), grid, real) &
                            ComparePart(actual.imag(), expected.imag(), grid, imag);
    const bool infinite = std::isinf(real.abs) || std::isinf(imag.abs);
    current_.abs = infinite ? kInfinity : std::hypot(real.abs, imag.abs);
    const double magnitude = std::abs(expected);
    current_.rel = infinite || magnitude == 0 ? kInfinity : current_.abs / magnitude;
    current_.ulp = std::max(real.ulp, imag.ulp);
    if (current_.abs == 0) current_.rel = 0;
    if (parts_pass || infinite || !std::isfinite(magnitude)) return parts_pass;
    return current_.abs <= tolerance_.abs + tolerance_.rel * magnitude;
  }

  void Record(const Literal& actual, const Literal& expected, int64_t linear, const Errors& errors,
              bool passes) {
    report_.max_abs_error = std::max(report_.max_abs_error, errors.abs);
    report_.max_rel_error = std::max(report_.max_rel_error, errors.rel);
    if (passes) return;
    ++report_.mismatched;
    if (leaf_.empty() && report_.mismatched <= kMaxPlaces) report_.places.push_back(linear);
    const bool is_first = report_.mismatched == 1;
    const bool is_bad = static_cast<int>(report_.worst.size()) < max_reported_ ||
                        (!report_.worst.empty() && errors.rel > report_.worst.back().rel_error);
    if (!is_first && !is_bad) return;
    Mismatch mismatch{leaf_,      linear,    MultiIndex(linear, actual.shape().dims()),
                      "",         "",        errors.abs,
                      errors.rel, errors.ulp};
    AppendScalar(actual, linear, /*in_array=*/false, mismatch.actual);
    AppendScalar(expected, linear, /*in_array=*/false, mismatch.expected);
    if (is_first) report_.first = mismatch;
    if (!is_bad || max_reported_ <= 0) return;
    const auto place = std::upper_bound(
        report_.worst.begin(), report_.worst.end(), mismatch,
        [](const Mismatch& x, const Mismatch& y) { return x.rel_error > y.rel_error; });
    report_.worst.insert(place, std::move(mismatch));
    if (static_cast<int>(report_.worst.size()) > max_reported_) report_.worst.pop_back();
  }

  const Tolerance tolerance_;
  const int max_reported_;
  CompareReport& report_;
  ShapeIndex leaf_;
  Errors current_;
};

std::string Describe(const Mismatch& mismatch) {
  std::string text;
  if (!mismatch.leaf.empty()) text = fmt::format("output {} ", ToString(mismatch.leaf));
  text += fmt::format(
      "index [{}]: actual {}, expected {} (absolute error {:.3g}, relative {:.3g}, {:.3g} ulp)",
      fmt::join(mismatch.index, ","), mismatch.actual, mismatch.expected, mismatch.abs_error,
      mismatch.rel_error, mismatch.ulp_error);
  return text;
}

}  // namespace

CompareReport Compare(const Literal& actual, const Literal& expected, const Tolerance& tolerance,
                      int max_reported) {
  CompareReport report;
  if (!Compatible(actual.shape(), expected.shape())) {
    report.shape_error =
        fmt::format("actual shape is `{}`, expected `{}`", actual.shape(), expected.shape());
    return report;
  }
  Comparer(tolerance, max_reported, report).Run(actual, expected);
  return report;
}

std::string CompareReport::ToString() const {
  if (!shape_error.empty()) return "values cannot be compared: " + shape_error + "\n";
  std::string text;
  if (mismatched == 0) {
    const std::string what = of > 0 ? fmt::format("all {} samples of {} elements", compared, of)
                                    : fmt::format("all {} elements", compared);
    return fmt::format("{} agree (largest absolute error {:.3g}, relative {:.3g}){}\n", what,
                       max_abs_error, max_rel_error,
                       nans == 0          ? ""
                       : nans == compared ? "; all of them are NaN, which shows nothing"
                                          : fmt::format("; {} of them are NaN", nans));
  }
  text += fmt::format("{} of {} elements differ (largest absolute error {:.3g}, relative {:.3g})\n",
                      mismatched, compared, max_abs_error, max_rel_error);
  text += "  first at " + Describe(first) + "\n";
  for (const Mismatch& mismatch : worst) text += "  worst at " + Describe(mismatch) + "\n";
  return text;
}

}  // namespace hlo
