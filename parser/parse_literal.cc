// Literals, read from the raw text: large constants are most of the bytes of some modules.
//
//   array  = scalar                                  rank 0; of higher rank and not complex: element 0, the others are 0
//          | '{' [ item { [','] item } ] '}'         item = scalar for rank 1, an array of one dimension less otherwise
//          | '{' '...' '}'                           rank >= 1, or a tuple: elided
//   tuple  = '(' [ literal { ',' literal } ] ')'
//   scalar = INT | DEC | 'inf' | '-inf' | ['-'] 'nan' [ '(0x' hex ')' ] | 'true' | 'false' | '(' part ',' part ')'
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "parser/parser_internal.h"

namespace hlo {
namespace {

struct Number {
  enum class Kind { kInt, kDouble, kNan, kBool } kind = Kind::kInt;
  bool negative = false;  // of a NaN
  bool wide = false;      // kInt above 2^63 - 1: `integer` is the bit pattern
  bool has_payload = false;
  int64_t integer = 0;  // kInt, kBool
  double value = 0;     // kDouble (infinities included)
  uint64_t payload = 0;
};

// Width of the mantissa field of types whose NaNs have payloads, else 0.
int PayloadBits(ElementType type) {
  static constexpr std::pair<ElementType, int> kBits[] = {
      {ElementType::kF64, 52},  {ElementType::kF32, 23},   {ElementType::kF16, 10},
      {ElementType::kBF16, 7},  {ElementType::kF8E5M2, 2}, {ElementType::kF8E4M3, 3},
      {ElementType::kF8E3M4, 4}};
  for (const auto& [with_payload, bits] : kBits) {
    if (with_payload == type) return bits;
  }
  return 0;
}

// The shape that a constant has: bounds become sizes, packed element sizes are dropped.
Shape ConstantShapeOf(Shape shape) {
  shape = shape.WithoutDynamic();
  const Layout* layout = shape.layout_or_null();
  if (layout == nullptr || layout->element_size_in_bits == 0) return shape;
  Layout plain = *layout;
  plain.element_size_in_bits = 0;
  return shape.WithLayout(plain);
}

}  // namespace

bool ToDouble(std::string_view text, double& out) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
  if (result.ec == std::errc()) return std::isfinite(out);
  // Too large or too small; strtod tells which.
  out = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(out);
}

// Reads one literal; `at` is the next byte.
class LiteralReader {
 public:
  LiteralReader(Parser& parser, Lexer& lex)
      : parser_(parser), lex_(lex), at_(lex.SkipBlanks(lex.cursor())) {}

  bool Read(Shape shape, Literal& out) {
    const Parser::Depth depth(parser_);
    if (!depth.ok()) return false;
    if (shape.IsTuple()) return Tuple(shape, out);
    if (!CheckArray(shape)) return false;
    shape = ConstantShapeOf(shape);
    if (shape.rank() > 0 && Elided()) {
      out = Literal::Elided(shape);
      return true;
    }
    const bool bare = StartsBareValue(shape);
    if (shape.rank() > 0 && *at_ != '{' && !bare)
      return Expected(fmt::format("`{{` of dimension 0 of `{}`", shape));
    if (shape.element_count() > lex_.end() - at_) {
      return Stop("a constant of shape `{}` has {} elements, more than the rest of the text", shape,
                  shape.element_count());
    }
    out = Literal(shape);
    literal_ = &out;
    data_ = out.mutable_data();
    linear_ = 0;
    type_ = shape.element_type();
    component_ = ComponentType(type_);
    if (bare) {
      const std::string_view zero = IsPred(type_) ? "false" : "0";
      parser_.Warn({lex_.OffsetOf(at_), 1}, "one value for `{}`; the others are {}", shape, zero);
    }
    if (shape.rank() == 0 || bare) return Scalar();
    return Level(0);
  }

  // Makes the token after the literal current.
  void Leave() {
    lex_.set_cursor(at_);
    lex_.Next();
  }

 private:
  // Reports at the token that starts at the current byte.
  template <class... Args>
  bool Stop(fmt::format_string<Args...> format, Args&&... args) {
    Leave();
    return parser_.Fail(parser_.token().loc(), format, std::forward<Args>(args)...);
  }
  bool Expected(std::string_view what) {
    Leave();
    return parser_.Unexpected(what);
  }

  void Skip() { at_ = lex_.SkipBlanks(at_); }

  // `s32[2] constant(7)`: XLA takes it for {7, 0}, and texts exist. Where a literal stands alone,
  // as on a command line, that helps nobody.
  bool StartsBareValue(Shape shape) const {
    static constexpr std::string_view kWords[] = {"true", "false", "nan", "inf"};
    if (shape.rank() == 0 || IsComplex(shape.element_type()) || shape.IsZeroSized() ||
        !parser_.ReadsModule())
      return false;
    return IsDigit(*at_) || *at_ == '-' ||
           std::any_of(std::begin(kWords), std::end(kWords), [this](std::string_view word) {
             return std::strncmp(at_, word.data(), word.size()) == 0;
           });
  }

  bool Elided() {
    if (*at_ != '{') return false;
    const char* dots = lex_.SkipBlanks(at_ + 1);
    if (std::strncmp(dots, "...", 3) != 0) return false;
    const char* close = lex_.SkipBlanks(dots + 3);
    if (*close != '}') return false;
    at_ = close + 1;
    return true;
  }

  bool CheckArray(Shape shape) {
    if (!shape.IsArray()) return Stop("a constant of shape `{}` has no text", shape);
    for (const int64_t dim : shape.dims()) {
      if (dim == Shape::kUnbounded)
        return Stop("a constant of shape `{}`, whose size is unbounded", shape);
    }
    return true;
  }

  // The shape that a constant tuple has; that of a tuple with other leaves than arrays has no text.
  bool ConstantTupleShape(Shape shape, Shape& out) {
    if (!shape.IsTuple()) {
      if (!CheckArray(shape)) return false;
      out = ConstantShapeOf(shape);
      return true;
    }
    std::vector<Shape> elements(shape.elements().begin(), shape.elements().end());
    for (Shape& element : elements) {
      if (!ConstantTupleShape(element, element)) return false;
    }
    out = Shape::Tuple(elements);
    return true;
  }

  bool Tuple(Shape shape, Literal& out) {
    if (Elided()) {
      Shape constant;
      if (!ConstantTupleShape(shape, constant)) return false;
      out = Literal::Elided(constant);
      return true;
    }
    if (*at_ != '(') return Expected("`(` of a tuple literal");
    ++at_;
    std::vector<Literal> elements(shape.elements().size());
    for (size_t i = 0; i < elements.size(); ++i) {
      Skip();
      if (i > 0) {
        if (*at_ != ',')
          return Expected(fmt::format("`,` and element {} of {}", i, elements.size()));
        ++at_;
        Skip();
      }
      if (!Read(shape.element(static_cast<int>(i)), elements[i])) return false;
    }
    Skip();
    if (*at_ != ')') return Expected("`)` at the end of a tuple literal");
    ++at_;
    out = Literal::Tuple(std::move(elements));
    return true;
  }

  // The braces of dimension `level` and everything in them.
  bool Level(int level) {
    const Shape shape = literal_->shape();
    const int64_t size = shape.dim(level);
    if (*at_ != '{') return Expected(fmt::format("`{{` of dimension {} of `{}`", level, shape));
    if (level + 1 == shape.rank()) return Row(size);
    const Parser::Depth depth(parser_);
    if (!depth.ok()) return false;
    ++at_;
    for (int64_t count = 0;; ++count) {
      SkipItems();
      if (*at_ == '}') {
        if (count != size)
          return Stop("dimension {} of `{}` has {} items here, expected {}", level, shape, count,
                      size);
        ++at_;
        return true;
      }
      if (count == size)
        return Stop("dimension {} of `{}` has more than {} items here", level, shape, size);
      if (!Level(level + 1)) return false;
    }
  }

  // Blanks and commas: the commas between items are noise.
  void SkipItems() {
    Skip();
    while (*at_ == ',') {
      ++at_;
      Skip();
    }
  }

  bool Row(int64_t size) {
    ++at_;
    const int64_t limit = linear_ + size;
    while (true) {
      if (*at_ == ',') ++at_;
      if (*at_ == ' ') ++at_;
      SkipItems();
      if (*at_ == '}') {
        if (linear_ != limit) {
          return Stop("the minor-most dimension of `{}` has {} elements here, expected {}",
                      literal_->shape(), size - (limit - linear_), size);
        }
        ++at_;
        return true;
      }
      if (linear_ == limit)
        return Stop("the minor-most dimension of `{}` has more than {} elements here",
                    literal_->shape(), size);
      if (!Scalar()) return false;
    }
  }

  // One element, stored at linear_.
  bool Scalar() {
    if (component_ != type_) return ComplexScalar();
    Number number;
    if (!ReadNumber(number)) return false;
    // Short cuts for the commonest types.
    const bool is_int = number.kind == Number::Kind::kInt && !number.wide;
    const bool is_double = number.kind == Number::Kind::kDouble;
    if (type_ == ElementType::kF32) {
      if (is_int) return Store(static_cast<float>(number.integer));
      const auto narrow = static_cast<float>(number.value);
      if (is_double && (std::isfinite(narrow) || std::isinf(number.value))) return Store(narrow);
    } else if (type_ == ElementType::kF64 && is_double) {
      return Store(number.value);
    } else if (type_ == ElementType::kS32 && is_int &&
               number.integer == static_cast<int32_t>(number.integer)) {
      return Store(static_cast<int32_t>(number.integer));
    }
    return AnyScalar(number);
  }

  template <class T>
  bool Store(T value) {
    std::memcpy(data_ + linear_ * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    ++linear_;
    return true;
  }

  bool AnyScalar(const Number& number) {
    if (number.kind == Number::Kind::kBool && !IsPred(type_)) {
      return StopAtNumber("`{}` in a constant of type {}", number.integer != 0 ? "true" : "false",
                          Text(type_));
    }
    if (IsPred(type_) || IsInteger(type_)) {
      if (number.kind != Number::Kind::kInt && number.kind != Number::Kind::kBool) {
        return StopAtNumber("expected an integer for type {}", Text(type_));
      }
      return Integer(number);
    }
    double value = 0;
    return Float(number, value);
  }

  bool Integer(const Number& number) {
    if (IsPred(type_)) {
      data_[linear_++] = number.integer != 0;
      return true;
    }
    const int bits = BitWidth(type_);
    const bool is_signed = IsSigned(type_);
    const int64_t lowest = is_signed ? INT64_MIN >> (64 - bits) : 0;
    const uint64_t highest =
        bits == 64 && !is_signed ? UINT64_MAX : (uint64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
    const bool is_negative = number.integer < 0 && !number.wide;
    // A negative u64 wraps around, as XLA reads it.
    const bool wraps = type_ == ElementType::kU64;
    const bool fits = is_negative ? (number.integer >= lowest || wraps)
                                  : static_cast<uint64_t>(number.integer) <= highest;
    if (!fits) {
      return StopAtNumber("`{}` is out of range for {}, expected {} to {}",
                          std::string_view(number_, static_cast<size_t>(at_ - number_)),
                          Text(type_), lowest, highest);
    }
    literal_->SetInt(linear_++, number.integer);
    return true;
  }

  // Rounds to `component_` and stores; `value` is what was stored.
  bool Float(const Number& number, double& value) {
    if (number.kind == Number::Kind::kNan) return NanValue(number);
    if (number.kind == Number::Kind::kInt) {
      value = number.wide ? static_cast<double>(static_cast<uint64_t>(number.integer))
                          : static_cast<double>(number.integer);
    } else {
      value = number.value;
    }
    // The 16-bit types are rounded by way of f32.
    const bool two_steps = type_ == ElementType::kF16 || type_ == ElementType::kBF16;
    literal_->SetDouble(linear_,
                        two_steps ? static_cast<double>(static_cast<float>(value)) : value);
    const double stored = literal_->GetDouble(linear_);
    if (std::isfinite(value) && !std::isfinite(stored)) {
      return StopAtNumber("`{}` is out of range for {}",
                          std::string_view(number_, static_cast<size_t>(at_ - number_)),
                          Text(type_));
    }
    ++linear_;
    return true;
  }

  bool NanValue(const Number& number) {
    const int bits = PayloadBits(type_);
    if (bits == 0) {
      if (number.has_payload) return StopAtNumber("NaNs of type {} have no payload", Text(type_));
      literal_->SetDouble(linear_++, std::copysign(std::numeric_limits<double>::quiet_NaN(),
                                                   number.negative ? -1.0 : 1.0));
      return true;
    }
    uint64_t pattern;
    if (!NanPattern(number, type_, pattern)) return false;
    std::memcpy(data_ + linear_ * ByteSize(type_), &pattern, static_cast<size_t>(ByteSize(type_)));
    ++linear_;
    return true;
  }

  bool NanPattern(const Number& number, ElementType type, uint64_t& pattern) {
    const int bits = PayloadBits(type);
    const uint64_t payload = number.has_payload ? number.payload : uint64_t{1} << (bits - 1);
    if (payload >= uint64_t{1} << bits) {
      return StopAtNumber("NaN payload {:#x} is out of range for {}, expected at most {:#x}",
                          payload, Text(type), (uint64_t{1} << bits) - 1);
    }
    const int width = BitWidth(type);
    const uint64_t exponent = ((uint64_t{1} << (width - 1 - bits)) - 1) << bits;
    pattern = payload | exponent | uint64_t{number.negative} << (width - 1);
    return true;
  }

  bool ComplexScalar() {
    if (*at_ != '(') return Expected(fmt::format("`(` of a {} number", Text(type_)));
    double parts[2];
    uint64_t patterns[2];
    bool is_nan[2];
    for (int i = 0; i < 2; ++i) {
      ++at_;
      Skip();
      Number number;
      if (!ReadNumber(number)) return false;
      if (number.kind == Number::Kind::kBool)
        return StopAtNumber("expected a number, found a truth value");
      is_nan[i] = number.kind == Number::Kind::kNan;
      if (is_nan[i]) {
        if (!NanPattern(number, component_, patterns[i])) return false;
      } else {
        parts[i] = number.kind == Number::Kind::kDouble ? number.value
                   : number.wide ? static_cast<double>(static_cast<uint64_t>(number.integer))
                                 : static_cast<double>(number.integer);
        const bool narrow = component_ == ElementType::kF32;
        if (std::isfinite(parts[i]) && narrow && !std::isfinite(static_cast<float>(parts[i]))) {
          return StopAtNumber("the {} part is out of range for {}", i == 0 ? "real" : "imaginary",
                              Text(type_));
        }
        patterns[i] = narrow ? std::bit_cast<uint32_t>(static_cast<float>(parts[i]))
                             : std::bit_cast<uint64_t>(parts[i]);
      }
      Skip();
      if (*at_ != (i == 0 ? ',' : ')'))
        return Expected(i == 0 ? "`,` and the imaginary part" : "`)` of a complex number");
    }
    ++at_;
    const auto size = static_cast<size_t>(ByteSize(component_));
    uint8_t* to = data_ + linear_++ * 2 * static_cast<int64_t>(size);
    std::memcpy(to, &patterns[0], size);
    std::memcpy(to + size, &patterns[1], size);
    return true;
  }

  template <class... Args>
  bool StopAtNumber(fmt::format_string<Args...> format, Args&&... args) {
    const SourceLoc loc{lex_.OffsetOf(number_), static_cast<uint32_t>(at_ - number_)};
    Leave();
    return parser_.Fail(loc, format, std::forward<Args>(args)...);
  }

  bool ReadNumber(Number& out) {
    number_ = at_;
    const char* digits = at_ + (*at_ == '-');
    const char* at = digits;
    uint64_t value = 0;
    while (IsDigit(*at)) value = value * 10 + static_cast<uint64_t>(*at++ - '0');
    if (at == digits || *at == '.' || *at == 'e' || *at == 'E')
      return ReadOther(out, at == digits && *at != '.');
    if (at - digits > 18) {
      const auto result =
          *at_ == '-' ? std::from_chars(at_, at, out.integer) : WideFromChars(at, out);
      if (result.ec != std::errc()) {
        at_ = at;
        return StopAtNumber("this integer does not fit 64 bits");
      }
    } else {
      out.integer = digits != at_ ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
    }
    at_ = at;
    return EndNumber();
  }

  std::from_chars_result WideFromChars(const char* end, Number& out) {
    uint64_t value = 0;
    const auto result = std::from_chars(at_, end, value);
    out.integer = static_cast<int64_t>(value);
    out.wide = out.integer < 0;
    return result;
  }

  bool EndNumber() {
    if (!Lexer::IsIdentByte(*at_)) return true;
    while (Lexer::IsIdentByte(*at_)) ++at_;
    return StopAtNumber("`{}` is no number",
                        std::string_view(number_, static_cast<size_t>(at_ - number_)));
  }

  // Decimals and words.
  bool ReadOther(Number& out, bool is_word) {
    if (!is_word) {
      if (*at_ == '.') return Expected("a value");
      out.kind = Number::Kind::kDouble;
      const char* limit = at_ + 1;
      while (IsDigit(*limit) || *limit == '.' || *limit == 'e' || *limit == 'E' || *limit == '-' ||
             *limit == '+')
        ++limit;
      const auto result = std::from_chars(at_, limit, out.value);
      if (result.ec == std::errc::invalid_argument) return Expected("a value");
      at_ = result.ptr;
      if (result.ec != std::errc() &&
          !ToDouble({number_, static_cast<size_t>(at_ - number_)}, out.value)) {
        return StopAtNumber("this number is out of range for a 64-bit float");
      }
      return EndNumber();
    }
    const bool negative = *at_ == '-';
    const char* word = at_ + negative;
    const char* end = word;
    while (Lexer::IsIdentByte(*end)) ++end;
    const std::string_view text(word, static_cast<size_t>(end - word));
    if (text == "inf") {
      out.kind = Number::Kind::kDouble;
      out.value = negative ? -std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::infinity();
    } else if (text == "nan") {
      out.kind = Number::Kind::kNan;
      out.negative = negative;
      if (end[0] == '(' && end[1] == '0' && end[2] == 'x') {
        const char* hex = end + 3;
        const char* close = hex;
        while (Lexer::IsIdentByte(*close)) ++close;
        const auto result = std::from_chars(hex, close, out.payload, 16);
        const bool ok = result.ec == std::errc() && result.ptr == close && *close == ')' &&
                        out.payload != 0 && out.payload < uint64_t{1} << 52;
        at_ = *close == ')' ? close + 1 : close;
        if (!ok)
          return StopAtNumber("a malformed NaN payload, expected `(0x1)` to `(0xfffffffffffff)`");
        out.has_payload = true;
        return true;
      }
    } else if (!negative && (text == "true" || text == "false")) {
      out.kind = Number::Kind::kBool;
      out.integer = text == "true";
    } else {
      return Expected("a value");
    }
    at_ = end;
    return true;
  }

  Parser& parser_;
  Lexer& lex_;
  const char* at_;
  const char* number_ = nullptr;
  Literal* literal_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t linear_ = 0;
  ElementType type_ = ElementType::kPred;
  ElementType component_ = ElementType::kPred;
};

bool Parser::ParseLiteral(Shape shape, Literal& out) {
  LiteralReader reader(*this, lex_);
  if (!reader.Read(shape, out)) return false;
  reader.Leave();
  return true;
}

}  // namespace hlo
