#include "lib/eval/choice.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "lib/eval/region.h"

namespace hlo {
namespace {

constexpr size_t kMostElements = 128;  // combinations of the values of all components

// Values of `type`, three of them in order, so that three arguments can stand in any order. Zeros
// are one value: which of them a maximum of equals is does not matter.
std::vector<Literal> Sample(ElementType type, Nan nan) {
  std::vector<Literal> values;
  if (IsPred(type)) return {Literal::Scalar(type, 0.0), Literal::Scalar(type, 1.0)};
  // Of integers of two bits there are only these; every float type has the powers of two.
  constexpr int64_t kSigned[] = {-1, 0, 1}, kUnsigned[] = {0, 1, 2}, kPowers[] = {1, 2, 4};
  for (const int64_t value : IsFloat(type) ? kPowers : IsSigned(type) ? kSigned : kUnsigned)
    values.push_back(Literal::Scalar(type, static_cast<double>(value)));
  if (IsFloat(type) && nan == Nan::kSome)
    values.push_back(Literal::Scalar(type, std::numeric_limits<double>::quiet_NaN()));
  return values;
}

// The region as a table over numbered elements.
class Table {
 public:
  // False when it has too many elements or leaves the sample.
  bool Fill(const Computation& region, const RegionProgram& program, Nan nan) {
    const auto components = static_cast<size_t>(program.result_count());
    for (size_t k = 0; k < components; ++k) {
      const ElementType type = region.parameter(static_cast<int>(k))->shape().element_type();
      if (IsComplex(type)) return false;
      samples_.push_back(Sample(type, nan));
      size_ *= samples_.back().size();
      if (size_ > kMostElements) return false;
    }
    to_.resize(size_ * size_);
    std::vector<std::vector<uint8_t>> results(components, std::vector<uint8_t>(16));
    std::vector<uint8_t*> out;
    for (auto& result : results) out.push_back(result.data());
    for (size_t a = 0; a < size_; ++a) {
      for (size_t b = 0; b < size_; ++b) {
        std::vector<const uint8_t*> in(2 * components);
        for (size_t k = 0; k < components; ++k) {
          in[k] = Component(a, k).data();
          in[components + k] = Component(b, k).data();
        }
        program.Run(in.data(), out.data(), 1);
        const std::optional<size_t> element = Find(out);
        if (!element) return false;
        to_[a * size_ + b] = *element;
      }
    }
    return true;
  }

  size_t size() const { return size_; }
  size_t operator()(size_t a, size_t b) const { return to_[a * size_ + b]; }

  template <class Fn>
  bool HoldsForPairs(Fn&& holds) const {
    for (size_t a = 0; a < size_; ++a) {
      for (size_t b = 0; b < size_; ++b) {
        if (!holds(a, b)) return false;
      }
    }
    return true;
  }
  template <class Fn>
  bool HoldsForTriples(Fn&& holds) const {
    return HoldsForPairs([&](size_t a, size_t b) {
      for (size_t c = 0; c < size_; ++c) {
        if (!holds(a, b, c)) return false;
      }
      return true;
    });
  }

 private:
  const Literal& Component(size_t element, size_t k) const {
    for (size_t j = 0; j < k; ++j) element /= samples_[j].size();
    return samples_[k][element % samples_[k].size()];
  }
  // The element whose components are these bytes.
  std::optional<size_t> Find(const std::vector<uint8_t*>& bytes) const {
    size_t element = 0, factor = 1;
    for (size_t k = 0; k < samples_.size(); ++k) {
      const auto found =
          std::find_if(samples_[k].begin(), samples_[k].end(), [&](const Literal& value) {
            return std::memcmp(value.data(), bytes[k], static_cast<size_t>(value.byte_size())) == 0;
          });
      if (found == samples_[k].end()) return std::nullopt;
      element += factor * static_cast<size_t>(found - samples_[k].begin());
      factor *= samples_[k].size();
    }
    return element;
  }

  std::vector<std::vector<Literal>> samples_;
  size_t size_ = 1;
  std::vector<size_t> to_;
};

std::optional<TieOrder> OrderIn(const Table& f) {
  const auto commutes = [&](size_t a, size_t b) { return f(a, b) == f(b, a); };
  const auto chooses = [&](size_t a, size_t b) { return f(a, b) == a || f(a, b) == b; };
  const bool associative = f.HoldsForTriples(
      [&](size_t a, size_t b, size_t c) { return f(f(a, b), c) == f(a, f(b, c)); });
  if (!associative || !f.HoldsForPairs([&](size_t a, size_t) { return f(a, a) == a; }))
    return std::nullopt;
  if (f.HoldsForPairs(commutes)) return TieOrder::kAny;
  // Elements have ranks: no worse than, taken on, is no worse than.
  const auto not_worse = [&](size_t a, size_t b) { return f(a, b) == a || f(b, a) == a; };
  const bool ranks =
      f.HoldsForPairs(chooses) && f.HoldsForTriples([&](size_t a, size_t b, size_t c) {
        return !not_worse(a, b) || !not_worse(b, c) || not_worse(a, c);
      });
  if (!ranks) return std::nullopt;
  const auto is = [&](bool first) {
    return f.HoldsForPairs(
        [&](size_t a, size_t b) { return commutes(a, b) || f(a, b) == (first ? a : b); });
  };
  if (is(true)) return TieOrder::kFirst;
  if (is(false)) return TieOrder::kLast;
  return std::nullopt;
}

}  // namespace

bool IsChoice(const Computation& region) {
  for (const Instruction* i : region.instructions()) {
    constexpr Opcode kChoices[] = {Opcode::kParameter, Opcode::kCompare, Opcode::kSelect,
                                   Opcode::kAnd,       Opcode::kOr,      Opcode::kNot,
                                   Opcode::kMaximum,   Opcode::kMinimum, Opcode::kTuple};
    if (std::find(std::begin(kChoices), std::end(kChoices), i->opcode()) == std::end(kChoices))
      return false;
    const bool logical =
        i->opcode() == Opcode::kAnd || i->opcode() == Opcode::kOr || i->opcode() == Opcode::kNot;
    if (logical && !IsPred(i->shape().element_type())) return false;
  }
  return true;
}

std::optional<TieOrder> TieOrderOf(const Computation& region, Nan nan) {
  if (!IsChoice(region)) return std::nullopt;
  const auto program = RegionProgram::Compile(region);
  if (!program.ok() || *program == nullptr) return std::nullopt;
  if (region.parameter_count() != 2 * (*program)->result_count()) return std::nullopt;
  for (int k = 0; k < (*program)->result_count(); ++k) {
    const ElementType type = (*program)->result_type(k);
    const int other = k + (*program)->result_count();
    if (region.parameter(k)->shape().element_type() != type ||
        region.parameter(other)->shape().element_type() != type)
      return std::nullopt;
  }
  Table table;
  if (!table.Fill(region, **program, nan)) return std::nullopt;
  return OrderIn(table);
}

}  // namespace hlo
