#include "tools/run/value_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "lib/math/random.h"
#include "lib/support/file.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "tools/run/npy.h"
#include "tools/support/generator.h"

namespace hlo {
namespace {

constexpr std::string_view kBetween = " \t\r\n,";
constexpr std::string_view kGroups = "{}[]";

// ---- shapes ----

// `i32`, `si8`, `ui16` and `i1` are MLIR's words.
std::optional<ElementType> TypeOfWord(std::string_view word) {
  if (word == "i1") return ElementType::kPred;
  if (const auto type = ElementTypeFromText(word); type && IsArrayType(*type)) return type;
  const bool is_unsigned = word.starts_with("ui");
  if (!is_unsigned && !word.starts_with("si") && !word.starts_with('i')) return std::nullopt;
  const std::string_view bits = word.substr(word.find('i') + 1);
  return ElementTypeFromText(fmt::format("{}{}", is_unsigned ? 'u' : 's', bits));
}

// "2x3xf32", "f32".
std::optional<Shape> MlirShape(std::string_view text) {
  DimVec dims;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const std::optional<int64_t> size = TakeNumber<int64_t>(text);
    if (!size || !text.starts_with('x')) return std::nullopt;
    dims.push_back(*size);
    text.remove_prefix(1);
  }
  const std::optional<ElementType> type = TypeOfWord(text);
  if (!type) return std::nullopt;
  const Shape shape = Shape::Array(*type, dims).WithDefaultLayout();
  if (!ValidateShape(shape).ok()) return std::nullopt;
  return shape;
}

std::optional<Shape> ShapeOfWord(std::string_view text) {
  if (const std::optional<Shape> shape = MlirShape(text)) return shape;
  const absl::StatusOr<Shape> shape = ParseShape(text);
  if (!shape.ok() || !shape->IsArray() || shape->has_dynamic_dims()) return std::nullopt;
  return shape->WithDefaultLayout();
}

// ---- what is made ----

// Of a float type, what lies at its ends.
struct Ends {
  ElementType type;
  double largest, smallest, denormal;
};
constexpr Ends kEnds[] = {
    {ElementType::kF64, std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
     std::numeric_limits<double>::denorm_min()},
    {ElementType::kF32, double{std::numeric_limits<float>::max()},
     double{std::numeric_limits<float>::min()}, double{std::numeric_limits<float>::denorm_min()}},
    {ElementType::kF16, 65504, 0x1p-14, 0x1p-24},
    {ElementType::kBF16, 0x1.fep127, 0x1p-126, 0x1p-133},
};

std::vector<double> SpecialNumbers(ElementType type) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> numbers = {
      0, -0.0, 1, -1, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
  for (const Ends& ends : kEnds) {
    if (ends.type != type) continue;
    for (const double x : {ends.largest, ends.smallest, ends.denormal})
      numbers.insert(numbers.end(), {x, -x});
  }
  return numbers;
}

void FillSpecial(Literal& array) {
  const ElementType type = array.element_type();
  if (IsInteger(type) || IsPred(type)) {
    const int64_t numbers[] = {0, 1, IsSigned(type) ? -1 : 2, Literal::MinValue(type).GetInt(),
                               Literal::MaxValue(type).GetInt()};
    for (int64_t i = 0; i < array.element_count(); ++i) array.SetInt(i, numbers[i % 5]);
    return;
  }
  const std::vector<double> numbers = SpecialNumbers(ComponentType(type));
  const auto number = [&](int64_t i) { return numbers[static_cast<size_t>(i) % numbers.size()]; };
  for (int64_t i = 0; i < array.element_count(); ++i) {
    if (IsComplex(type)) {
      array.SetComplex(i, {number(i), number(i / std::ssize(numbers))});
    } else {
      array.SetDouble(i, number(i));
    }
  }
}

// A mean of (low + high) / 2 and a deviation of (high - low) / 2.
void FillNormal(Literal& array, Range range, uint64_t seed, int64_t number) {
  const uint64_t key = InputKey(seed, number);
  const auto draw = [&](int64_t i) {
    const auto unit = [&](int64_t k) {
      return static_cast<double>(InputDraw(key, k) >> 11) * 0x1p-53;
    };
    return math::NormalFloat(unit(2 * i), unit(2 * i + 1), (range.low + range.high) / 2,
                             (range.high - range.low) / 2);
  };
  for (int64_t i = 0; i < array.element_count(); ++i) {
    if (IsComplex(array.element_type())) {
      array.SetComplex(i, {draw(2 * i), draw(2 * i + 1)});
    } else if (IsFloat(array.element_type())) {
      array.SetDouble(i, draw(i));
    } else {
      array.SetInt(i, static_cast<int64_t>(std::nearbyint(draw(i))));
    }
  }
}

// ---- numbers that are given ----

// The numbers of a text; commas, blanks and brackets lie between them, those of complex numbers do
// not.
std::vector<std::string_view> NumbersOf(std::string_view text) {
  std::vector<std::string_view> numbers;
  size_t at = 0;
  while (at < text.size()) {
    const auto is_between = [](char c) {
      return kBetween.find(c) != std::string_view::npos ||
             kGroups.find(c) != std::string_view::npos;
    };
    if (is_between(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    for (int depth = 0; end < text.size() && (depth > 0 || !is_between(text[end])); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    numbers.push_back(text.substr(at, end - at));
    at = end;
  }
  return numbers;
}

absl::StatusOr<Literal> FromNumbers(Shape shape, std::string_view text) {
  const std::vector<std::string_view> numbers = NumbersOf(text);
  const int64_t count = std::ssize(numbers);
  if (count != 1 && count != shape.element_count()) {
    return Error("`{}` takes {} numbers, or one for all, found {}", shape, shape.element_count(),
                 count);
  }
  const Shape list = Shape::Array(shape.element_type(), {count}).WithDefaultLayout();
  ASSIGN_OR_RETURN(const Literal values,
                   ParseLiteral(fmt::format("{{{}}}", fmt::join(numbers, ", ")), list));
  Literal result(shape);
  const auto bytes = static_cast<size_t>(ByteSize(shape.element_type()));
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const size_t from = count == 1 ? 0 : static_cast<size_t>(i) * bytes;
    std::memcpy(result.mutable_data() + static_cast<size_t>(i) * bytes, values.data() + from,
                bytes);
  }
  return result;
}

// `path` or `path:offset`.
absl::StatusOr<Literal> FromBytes(Shape shape, std::string_view where) {
  std::string path(where);
  int64_t offset = 0;
  if (const size_t colon = where.rfind(':'); colon != std::string_view::npos) {
    const std::optional<int64_t> number = ReadNumber<int64_t>(where.substr(colon + 1));
    if (number && *number >= 0) path = std::string(where.substr(0, colon));
    offset = number.value_or(0);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (text.starts_with("\x93NUMPY")) {
    const absl::StatusOr<NpyArray> array = ParseNpy(text);
    if (!array.ok()) return Error("`{}`: {}", path, std::string(array.status().message()));
    return ToLiteral(*array, shape);
  }
  Literal result(shape);
  const int64_t there = std::ssize(text) - offset;
  // Without an offset nothing may be left over.
  if (there < result.byte_size() || (offset == 0 && there > result.byte_size())) {
    return Error("`{}` has {} bytes{}, but `{}` takes {}", path, std::max<int64_t>(there, 0),
                 offset == 0 ? "" : fmt::format(" from {} on", offset), shape, result.byte_size());
  }
  std::memcpy(result.mutable_data(), text.data() + offset, static_cast<size_t>(result.byte_size()));
  return result;
}

}  // namespace

std::string BytesOfArray(const Literal& array) {
  if (array.byte_size() == 0) return "";
  return std::string(reinterpret_cast<const char*>(array.data()),
                     static_cast<size_t>(array.byte_size()));
}

std::optional<Distribution> DistributionFromWord(std::string_view word) {
  for (size_t i = 0; i < std::size(kDistributionWords); ++i) {
    if (kDistributionWords[i] == word) return static_cast<Distribution>(i);
  }
  return std::nullopt;
}

std::optional<Range> RangeFromWord(std::string_view word) {
  const size_t comma = word.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) -> std::optional<double> {
    const std::optional<double> value = ReadNumber<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
  };
  const std::optional<double> low = number(Trim(word.substr(0, comma)));
  const std::optional<double> high = number(Trim(word.substr(comma + 1)));
  if (!low || !high || *low > *high) return std::nullopt;
  return Range{*low, *high};
}

Literal MakeDistributed(Shape shape, Distribution distribution, const std::optional<Range>& range,
                        uint64_t seed, int64_t number) {
  const Shape made = shape.WithoutDynamic();
  const bool is_whole = !IsFloat(made.element_type()) && !IsComplex(made.element_type());
  InputSpec spec;
  switch (distribution) {
    case Distribution::kUniform:
    case Distribution::kInts: {
      const bool are_ints = is_whole || distribution == Distribution::kInts;
      const Range limits = range.value_or(are_ints ? Range{-8, 7} : Range{-1, 1});
      spec.kind = are_ints ? InputSpec::Kind::kRandint : InputSpec::Kind::kUniform;
      spec.lo = limits.low;
      spec.hi = limits.high;
      spec.int_lo = static_cast<int64_t>(std::ceil(limits.low));
      spec.int_hi = static_cast<int64_t>(std::floor(limits.high)) + 1;
      if (is_whole && !IsSigned(made.element_type()))
        spec.int_lo = std::max<int64_t>(spec.int_lo, 0);
      return GenerateInput(made, spec, seed, number);
    }
    case Distribution::kZeros: return Literal(made);
    case Distribution::kOnes: return Literal::Filled(made, 1);
    case Distribution::kIota:
      spec.kind = InputSpec::Kind::kIota;
      return GenerateInput(made, spec, seed, number);
    case Distribution::kNormal:
    case Distribution::kSpecial: break;
  }
  Literal array(made);
  if (distribution == Distribution::kSpecial) {
    FillSpecial(array);
  } else {
    FillNormal(array, range.value_or(Range{-1, 1}), seed, number);
  }
  return array;
}

bool IsValueWord(std::string_view word) {
  const size_t equals = word.find('=');
  return equals != std::string_view::npos && ShapeOfWord(word.substr(0, equals)).has_value();
}

absl::StatusOr<Literal> ReadValueWord(std::string_view word, uint64_t seed, int64_t number) {
  const size_t equals = word.find('=');
  const Shape shape = *ShapeOfWord(word.substr(0, equals));
  const std::string_view value = Trim(word.substr(equals + 1));
  if (value.starts_with('@')) return FromBytes(shape, value.substr(1));
  if (const auto distribution = DistributionFromWord(value))
    return MakeDistributed(shape, *distribution, std::nullopt, seed, number);
  return FromNumbers(shape, value);
}

}  // namespace hlo
