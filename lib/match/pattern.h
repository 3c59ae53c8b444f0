// Patterns over instructions: what a rewrite rule looks for, written as it looks in HLO.
//
//   Instruction *x, *c;
//   if (Match(add, m::AddAnyOrder(m::Any(&x), m::Constant(&c)))) …
//   Match(root, m::GetTupleElement(m::Tuple(&tuple)).WithIndex(1))
//   Match(root, m::Reshape(m::Reshape(m::Any(&x)).OneUser()))
//
// For every opcode of ops.def there is m::Name(), m::Name(&capture), m::Name(p0, p1, …) and
// m::Name(&capture, p0, p1, …). Without operand patterns any operands match; with them there is one
// per operand, and a number the opcode cannot have does not compile. Commutative opcodes also have
// m::NameAnyOrder(p0, p1); for others that does not compile. GetTupleElement and Parameter alone
// have WithIndex.
//
// Patterns are constexpr structs without allocation. A capture is written when its part matches,
// also if the rest then fails: read captures only after Match returned true. Operands are tried
// left to right, so m::Same(&x) may refer to a capture on its left.
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

#include "lib/ir/instruction.h"

namespace hlo {

// Whether `instruction` matches; fills the captures if so.
template <class Pattern>
bool Match(const Instruction* instruction, const Pattern& pattern) {
  return pattern.Matches(const_cast<Instruction*>(instruction));
}

namespace m {
namespace internal {

// ---- conditions on a matched node; every pattern has them ----

struct OneUserCheck {
  bool operator()(const Instruction& node) const { return node.has_one_user(); }
};
struct ShapeCheck {
  Shape shape;
  bool operator()(const Instruction& node) const { return Compatible(node.shape(), shape); }
};
struct TypeCheck {
  ElementType type;
  bool operator()(const Instruction& node) const {
    return node.shape().IsArray() && node.shape().element_type() == type;
  }
};
struct RankCheck {
  int rank;
  bool operator()(const Instruction& node) const {
    return node.shape().IsArray() && node.shape().rank() == rank;
  }
};

template <class Inner, class Check>
class Constrained;

template <class Derived>
class PatternBase {
 public:
  // One distinct instruction reads it (perhaps several times).
  constexpr auto OneUser() const { return Constrained<Derived, OneUserCheck>(self(), {}); }
  // Its shape is `shape`, layouts aside.
  constexpr auto WithShape(Shape shape) const {
    return Constrained<Derived, ShapeCheck>(self(), {shape});
  }
  constexpr auto WithElementType(ElementType type) const {
    return Constrained<Derived, TypeCheck>(self(), {type});
  }
  constexpr auto WithRank(int rank) const {
    return Constrained<Derived, RankCheck>(self(), {rank});
  }
  // predicate(const Instruction&) holds; asked after everything inside matched.
  template <class Predicate>
  constexpr auto Where(Predicate predicate) const {
    return Constrained<Derived, Predicate>(self(), std::move(predicate));
  }

 private:
  constexpr const Derived& self() const { return static_cast<const Derived&>(*this); }
};

template <class Inner, class Check>
class Constrained : public PatternBase<Constrained<Inner, Check>> {
 public:
  constexpr Constrained(Inner inner, Check check)
      : inner_(std::move(inner)), check_(std::move(check)) {}
  bool Matches(Instruction* node) const { return inner_.Matches(node) && check_(*node); }

 private:
  Inner inner_;
  Check check_;
};

// ---- leaves ----

class AnyPattern : public PatternBase<AnyPattern> {
 public:
  constexpr explicit AnyPattern(Instruction** capture) : capture_(capture) {}
  bool Matches(Instruction* node) const {
    if (capture_ != nullptr) *capture_ = node;
    return true;
  }

 private:
  Instruction** capture_;
};

class SamePattern : public PatternBase<SamePattern> {
 public:
  constexpr explicit SamePattern(Instruction* const* other) : other_(other) {}
  bool Matches(Instruction* node) const { return node == *other_; }

 private:
  Instruction* const* other_;
};

// The literal whose elements are those of `node` in some order with repetition: its own, or below
// broadcasts. Null if none is known.
inline const Literal* SplatSource(const Instruction* node) {
  while (node->opcode() == Opcode::kBroadcast) node = node->operand(0);
  if (!node->IsConstant() || node->literal().is_elided() || !node->shape().IsArray())
    return nullptr;
  return &node->literal();
}

inline bool AllBitsSet(const Literal& literal) {
  const ElementType type = literal.element_type();
  if (type == ElementType::kPred) return literal.IsAll(1);
  if (!IsInteger(type) || literal.element_count() == 0) return false;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const uint64_t mask = BitWidth(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(type)) - 1;
    if ((static_cast<uint64_t>(literal.GetInt(i)) & mask) != mask) return false;
  }
  return true;
}

// A constant, or a broadcast of one, all of whose elements satisfy Check.
template <class Check>
class SplatPattern : public PatternBase<SplatPattern<Check>> {
 public:
  constexpr SplatPattern(Instruction** capture, Check check)
      : capture_(capture), check_(std::move(check)) {}
  bool Matches(Instruction* node) const {
    const Literal* literal = SplatSource(node);
    if (literal == nullptr || !check_(*literal)) return false;
    if (capture_ != nullptr) *capture_ = node;
    return true;
  }

 private:
  Instruction** capture_;
  Check check_;
};

struct IsAllCheck {
  double value;
  bool operator()(const Literal& literal) const { return literal.IsAll(value); }
};
struct AllBitsCheck {
  bool operator()(const Literal& literal) const { return AllBitsSet(literal); }
};

// A constant of one element, perhaps of a given value.
class ScalarPattern : public PatternBase<ScalarPattern> {
 public:
  constexpr ScalarPattern(Instruction** capture, bool any, double value)
      : capture_(capture), any_(any), value_(value) {}
  bool Matches(Instruction* node) const {
    if (!node->IsConstant() || !node->shape().IsEffectiveScalar() || node->literal().is_elided())
      return false;
    if (!any_ && !node->literal().IsAll(value_)) return false;
    if (capture_ != nullptr) *capture_ = node;
    return true;
  }

 private:
  Instruction** capture_;
  bool any_;
  double value_;
};

// Either of two patterns.
template <class First, class Second>
class EitherPattern : public PatternBase<EitherPattern<First, Second>> {
 public:
  constexpr EitherPattern(First first, Second second)
      : first_(std::move(first)), second_(std::move(second)) {}
  bool Matches(Instruction* node) const { return first_.Matches(node) || second_.Matches(node); }

 private:
  First first_;
  Second second_;
};

// ---- an opcode ----

struct Arity {
  int min;
  int max;  // -1: no limit
};

template <class... Operands>
class OperandPatterns {
 public:
  constexpr explicit OperandPatterns(Operands... operands) : operands_(std::move(operands)...) {}
  bool Matches(const Instruction& node) const {
    if (node.operand_count() != static_cast<int>(sizeof...(Operands))) return false;
    return MatchAll(node, std::index_sequence_for<Operands...>());
  }
  // As Matches with the two operands exchanged.
  bool MatchesSwapped(const Instruction& node) const {
    return node.operand_count() == 2 && std::get<0>(operands_).Matches(node.operand(1)) &&
           std::get<1>(operands_).Matches(node.operand(0));
  }

 private:
  template <size_t... I>
  bool MatchAll(const Instruction& node, std::index_sequence<I...>) const {
    return (std::get<I>(operands_).Matches(node.operand(static_cast<int>(I))) && ...);
  }
  std::tuple<Operands...> operands_;
};

enum class Order { kAsWritten, kAny };

template <Opcode kOpcode, Order kOrder, class... Operands>
class OpPattern : public PatternBase<OpPattern<kOpcode, kOrder, Operands...>> {
 public:
  constexpr explicit OpPattern(Instruction** capture, Operands... operands)
      : capture_(capture), operands_(std::move(operands)...) {}
  bool Matches(Instruction* node) const {
    if (node->opcode() != kOpcode) return false;
    if constexpr (sizeof...(Operands) > 0) {
      bool matches = operands_.Matches(*node);
      if constexpr (kOrder == Order::kAny) matches = matches || operands_.MatchesSwapped(*node);
      if (!matches) return false;
    }
    if (capture_ != nullptr) *capture_ = node;
    return true;
  }
  // The index of a get-tuple-element, the number of a parameter.
  constexpr auto WithIndex(int64_t index) const
      requires(kOpcode == Opcode::kGetTupleElement || kOpcode == Opcode::kParameter) {
    return this->Where([index](const Instruction& node) {
      if constexpr (kOpcode == Opcode::kParameter) {
        return node.parameter_number() == index;
      } else {
        return node.tuple_index() == index;
      }
    });
  }

 private:
  Instruction** capture_;
  OperandPatterns<Operands...> operands_;
};

template <class T>
concept Pattern = requires(const T& pattern, Instruction* node) {
  { pattern.Matches(node) } -> std::same_as<bool>;
};

constexpr bool Accepts(Arity arity, size_t count) {
  const int n = static_cast<int>(count);
  return n == 0 || (n >= arity.min && (arity.max < 0 || n <= arity.max));
}

// The operand columns of ops.def, read as arities.
template <class... Names>
constexpr Arity Args(Names...) {
  return {static_cast<int>(sizeof...(Names)), static_cast<int>(sizeof...(Names))};
}
template <class... Names>
constexpr Arity AtLeast(int min, Names...) {
  return {min, -1};
}
template <class... Names>
constexpr Arity Variadic(Names...) {
  return {0, -1};
}
#define HLO_OP(Name, text, operands, calls, attributes, shape_rule, types, cost, traits, summary) \
  inline constexpr Arity kArityOf##Name = operands;                                               \
  inline constexpr uint32_t kTraitsOf##Name = traits;
#include "lib/ops/ops.def"

}  // namespace internal

// Any instruction.
constexpr auto Any(Instruction** capture = nullptr) { return internal::AnyPattern(capture); }
// The instruction that `other` holds at this moment of the match.
constexpr auto Same(Instruction* const* other) { return internal::SamePattern(other); }
// First if it matches, else second.
template <internal::Pattern First, internal::Pattern Second>
constexpr auto Either(First first, Second second) {
  return internal::EitherPattern<First, Second>(std::move(first), std::move(second));
}

// A constant with one element (of rank 0 or with dimensions of size 1).
constexpr auto ConstantScalar(Instruction** capture = nullptr) {
  return internal::ScalarPattern(capture, true, 0);
}
constexpr auto ConstantScalar(double value) {
  return internal::ScalarPattern(nullptr, false, value);
}
// A constant or a broadcast of one, all elements being `value`. -0 is not 0.
constexpr auto Splat(double value, Instruction** capture = nullptr) {
  return internal::SplatPattern<internal::IsAllCheck>(capture, {value});
}
constexpr auto Zero(Instruction** capture = nullptr) { return Splat(0, capture); }
constexpr auto One(Instruction** capture = nullptr) { return Splat(1, capture); }
// As Splat: all bits set; integers and pred only.
constexpr auto AllOnes(Instruction** capture = nullptr) {
  return internal::SplatPattern<internal::AllBitsCheck>(capture, {});
}

#define HLO_OP(Name, ...)                                                                         \
  template <internal::Pattern... Operands>                                                        \
  requires(internal::Accepts(internal::kArityOf##Name, sizeof...(Operands))) constexpr auto Name( \
      Instruction** capture, Operands... operand) {                                               \
    return internal::OpPattern<Opcode::k##Name, internal::Order::kAsWritten, Operands...>(        \
        capture, operand...);                                                                     \
  }                                                                                               \
  template <internal::Pattern... Operands>                                                        \
  requires(internal::Accepts(internal::kArityOf##Name, sizeof...(Operands))) constexpr auto Name( \
      Operands... operand) {                                                                      \
    return internal::OpPattern<Opcode::k##Name, internal::Order::kAsWritten, Operands...>(        \
        nullptr, operand...);                                                                     \
  }                                                                                               \
  template <internal::Pattern First, internal::Pattern Second>                                    \
  requires((internal::kTraitsOf##Name & kCommutative) != 0) constexpr auto Name##AnyOrder(        \
      Instruction** capture, First first, Second second) {                                        \
    return internal::OpPattern<Opcode::k##Name, internal::Order::kAny, First, Second>(            \
        capture, first, second);                                                                  \
  }                                                                                               \
  template <internal::Pattern First, internal::Pattern Second>                                    \
  requires((internal::kTraitsOf##Name & kCommutative) != 0) constexpr auto Name##AnyOrder(        \
      First first, Second second) {                                                               \
    return internal::OpPattern<Opcode::k##Name, internal::Order::kAny, First, Second>(            \
        nullptr, first, second);                                                                  \
  }
#include "lib/ops/ops.def"

}  // namespace m
}  // namespace hlo
