#include "lib/linalg/signature.h"

#include <algorithm>
#include <limits>

#include "lib/linalg/ffi_attributes.h"
#include "lib/ops/attrs.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo::linalg {
namespace {

std::vector<std::string_view> Words(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>() : Split(text, ' ');
}

// T[m,n]: a type and letters.
struct Pattern {
  char type;
  std::string letters;
};
std::vector<Pattern> PatternsOf(std::string_view text) {
  std::vector<Pattern> patterns;
  for (const std::string_view array : Words(text)) {
    Pattern pattern{array[0], {}};
    for (const char c : array.substr(1)) {
      if (c >= 'a' && c <= 'z') pattern.letters += c;
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

constexpr std::string_view kDerived = "kptqauv";

class Matcher {
 public:
  Matcher(const Instruction& call, const Target& target)
      : call_(call),
        target_(target),
        name_(call.attrs<CustomCallAttrs>().custom_call_target),
        operand_patterns_(PatternsOf(target.operands)),
        result_patterns_(PatternsOf(target.results)) {
    found_.target = &target;
    found_.operands = call.operand_shapes();
    const Shape result = call.shape();
    if (result.IsTuple()) {
      found_.results.assign(result.elements().begin(), result.elements().end());
    } else {
      found_.results.push_back(result);
    }
    // A sparse matrix times a vector is one column; the width of an index is told by its type.
    found_.sizes['c'] = 1;
  }

  // Whether the element type is one of the row's, and the operands have as many dimensions.
  bool Fits() {
    if (!CheckForm().ok()) return false;
    for (size_t i = 0; i < operand_patterns_.size(); ++i) {
      if (found_.operands[i].rank() !=
          batch_rank_ + static_cast<int>(operand_patterns_[i].letters.size()))
        return false;
    }
    return true;
  }

  absl::StatusOr<Signature> Match() {
    RETURN_IF_ERROR(CheckForm());
    RETURN_IF_ERROR(ReadAttributes());
    Bind(operand_patterns_, found_.operands);
    Bind(result_patterns_, found_.results);
    Derive();
    RETURN_IF_ERROR(CheckNumbers());
    RETURN_IF_ERROR(CheckAll("operand", operand_patterns_, found_.operands));
    RETURN_IF_ERROR(CheckAll("result", result_patterns_, found_.results));
    RETURN_IF_ERROR(CheckLimits());
    const Shape first = found_.operands[0];
    for (int d = 0; d < batch_rank_; ++d) found_.batch *= first.dim(d);
    return std::move(found_);
  }

 private:
  template <class... Args>
  absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return Error(call_.loc(), "custom call `{}` {}", name_,
                 fmt::format(format, std::forward<Args>(args)...));
  }

  // Counts, arrays, the element type and the number of dimensions of the batch.
  absl::Status CheckForm() {
    if (found_.operands.size() != operand_patterns_.size())
      return Wrong("takes {} operands, {}, not {}", operand_patterns_.size(), target_.operands,
                   found_.operands.size());
    if (found_.results.size() != result_patterns_.size() ||
        call_.shape().IsTuple() != (result_patterns_.size() > 1))
      return Wrong("yields {}, not `{}`", target_.results, call_.shape());
    for (const auto* shapes : {&found_.operands, &found_.results}) {
      for (const Shape& shape : *shapes) {
        if (!shape.IsArray()) return Wrong("takes and yields arrays, not `{}`", shape);
        if (shape.has_dynamic_dims()) return Wrong("has no meaning for dynamic sizes: `{}`", shape);
      }
    }
    found_.type = found_.operands[0].element_type();
    std::vector<std::string_view> types;
    const char own = TypeLetter(target_, name_);
    for (const char letter : own != '\0' ? std::string_view(&own, 1) : target_.types)
      types.push_back(Text(TypeOfLetter(letter)));
    if (std::find(types.begin(), types.end(), Text(found_.type)) == types.end())
      return Wrong("takes operands of type {}, not `{}`", Join(types, ", "), found_.operands[0]);
    batch_rank_ = found_.operands[0].rank() - static_cast<int>(operand_patterns_[0].letters.size());
    if (batch_rank_ < 0)
      return Wrong("takes as operand 0 an array {}, not `{}`",
                   target_.operands.substr(0, target_.operands.find(' ')), found_.operands[0]);
    return absl::OkStatus();
  }

  bool IsDerived(char letter) const {
    if (kDerived.find(letter) == std::string_view::npos) return false;
    return !((letter == 'u' || letter == 'v') && found_.attributes["mode"] == 'N');
  }

  // Letters get the size at their first place; shapes with another number of dimensions are
  // refused later.
  void Bind(const std::vector<Pattern>& patterns, const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      const std::string& letters = patterns[i].letters;
      if (shapes[i].rank() != batch_rank_ + static_cast<int>(letters.size())) continue;
      if (patterns[i].type == 'J') found_.sizes['i'] = ByteSize(shapes[i].element_type());
      for (size_t d = 0; d < letters.size(); ++d) {
        if (IsDerived(letters[d]) || bound_.find(letters[d]) != std::string::npos) continue;
        bound_ += letters[d];
        found_.sizes[letters[d]] = shapes[i].dim(batch_rank_ + static_cast<int>(d));
      }
    }
  }

  void Derive() {
    Sizes& size = found_.sizes;
    const int64_t m = size['m'], n = size['n'], mode = found_.attributes["mode"];
    const bool left = found_.attributes["left"] != 0 || found_.attributes["side"] == 'L';
    size['k'] = std::min(m, n);
    size['p'] = std::max<int64_t>(n - 1, 0);
    size['t'] = size['q'] = left ? m : n;
    size['a'] = m + 1;
    if (mode != 'N') {
      size['u'] = mode == 'A' ? m : size['k'];
      size['v'] = mode == 'A' ? n : size['k'];
    }
  }

  ElementType TypeOf(char letter) const {
    if (letter == 'R') return ComponentType(found_.type);
    if (letter == 'C') return IsComplex(found_.type) ? found_.type : ComplexTypeOf(found_.type);
    if (letter == 'I') return ElementType::kS32;
    if (letter == 'J') return found_.sizes['i'] == 8 ? ElementType::kS64 : ElementType::kS32;
    return found_.type;
  }

  // Every array must be what the letters say.
  absl::Status CheckAll(std::string_view what, const std::vector<Pattern>& patterns,
                        const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      const absl::Span<const int64_t> batch =
          found_.operands[0].dims().first(static_cast<size_t>(batch_rank_));
      std::vector<int64_t> dims(batch.begin(), batch.end());
      for (const char letter : patterns[i].letters) dims.push_back(found_.sizes[letter]);
      const Shape expected = Shape::Array(TypeOf(patterns[i].type), dims);
      if (shapes[i].element_type() != expected.element_type() ||
          shapes[i].dims() != expected.dims())
        return Wrong("has as {} {} the array `{}`, not `{}`; it takes {} and yields {}", what, i,
                     shapes[i], expected, target_.operands, target_.results);
      for (const int64_t dim : expected.dims()) {
        if (dim > std::numeric_limits<int32_t>::max() - 1)
          return Wrong("has an array that is too large for LAPACK: `{}`", shapes[i]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckLimits() {
    for (const std::string_view limit : Words(target_.limits)) {
      const int64_t less = found_.sizes[limit.front()], more = found_.sizes[limit.back()];
      if (less > more)
        return Wrong("needs {} in {}, but {} is {} and {} is {}", limit, target_.operands,
                     limit.front(), less, limit.back(), more);
    }
    return absl::OkStatus();
  }

  absl::Status ReadAttributes() {
    if (target_.attributes.starts_with('=')) return ReadPositional();
    absl::StatusOr<FfiAttributes> given = ParseFfiAttributes(call_.backend_config());
    if (!given.ok()) return Wrong("has wrong attributes: {}", ToStd(given.status().message()));
    const std::vector<std::string_view> wanted = Words(target_.attributes);
    for (const std::string_view attribute : wanted) {
      const size_t colon = attribute.find(':');
      const std::string_view name = attribute.substr(0, colon);
      const auto it = std::find_if(given->begin(), given->end(),
                                   [name](const auto& entry) { return entry.first == name; });
      if (it == given->end()) return Wrong("lacks the attribute `{}`", name);
      RETURN_IF_ERROR(ReadAttribute(name, attribute.substr(colon + 1), it->second));
      given->erase(it);
    }
    if (given->empty() || !target_.name.ends_with("_ffi")) return absl::OkStatus();
    return Wrong("has an attribute `{}` that it does not know", given->front().first);
  }

  absl::Status ReadAttribute(std::string_view name, std::string_view kind, std::string_view text) {
    if (kind == "b") {
      if (text != "true" && text != "false")
        return Wrong("has for attribute `{}` neither true nor false, but `{}`", name, text);
      found_.attributes.Set(name, text == "true");
      return absl::OkStatus();
    }
    const std::optional<int64_t> read = ReadNumber<int64_t>(text);
    if (!read) return Wrong("has for attribute `{}` no number, but `{}`", name, text);
    const int64_t value = *read;
    const bool is_letter = value > ' ' && value < 127;
    if (kind != "i" &&
        (!is_letter || kind.find(static_cast<char>(value)) == std::string_view::npos)) {
      std::vector<std::string> choices;
      for (const char c : kind) choices.push_back(fmt::format("{} ('{}')", static_cast<int>(c), c));
      return Wrong("has {} for attribute `{}`, which is {}", value, name, Join(choices, " or "));
    }
    found_.attributes.Set(name, value);
    return absl::OkStatus();
  }

  // "1,1,100,1e-6": XLA's own calls have numbers in order; what follows those named here concerns
  // XLA's way of computing.
  absl::Status ReadPositional() {
    const std::vector<std::string_view> values = Split(call_.backend_config(), ',');
    const std::vector<std::string_view> names = Split(target_.attributes.substr(1), ',');
    for (size_t i = 0; i < names.size(); ++i) {
      if (i >= values.size() || (values[i] != "0" && values[i] != "1"))
        return Wrong("has a backend_config that does not begin with {} (0 or 1): `{}`", names[i],
                     call_.backend_config());
      found_.attributes.Set(names[i], values[i] == "1");
    }
    return absl::OkStatus();
  }

  // Rows that begin and end a part: 1 ≤ low ≤ high ≤ n, and (1, 0) for an empty matrix.
  absl::Status CheckNumbers() {
    if (target_.attributes.find("low:i") == std::string_view::npos) return absl::OkStatus();
    const int64_t low = found_.attributes["low"], high = found_.attributes["high"];
    const int64_t n = found_.sizes['n'];
    if (n == 0 || (1 <= low && low <= high && high <= n)) return absl::OkStatus();
    return Wrong("needs 1 <= low <= high <= {}, but low is {} and high is {}", n, low, high);
  }

  const Instruction& call_;
  const Target& target_;
  std::string_view name_;
  std::vector<Pattern> operand_patterns_, result_patterns_;
  Signature found_;
  std::string bound_;
  int batch_rank_ = 0;
};

}  // namespace

absl::StatusOr<Signature> MatchSignature(const Instruction& call) {
  const absl::Span<const Target> rows =
      FindTarget(call.attrs<CustomCallAttrs>().custom_call_target);
  RET_CHECK(!rows.empty(), "`{}` is no linear algebra", call.name());
  for (const Target& target : rows) {
    Matcher matcher(call, target);
    if (matcher.Fits()) return matcher.Match();
  }
  return Matcher(call, rows.front()).Match();
}

}  // namespace hlo::linalg
