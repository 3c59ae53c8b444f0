// lib/math/traced_value.h
//
// A value type for tests: a scalar behind the primitives and nothing else, as a vector of generated
// code would be.
//
// It has neither operators nor conversions nor a default constructor, so a function that compiles
// with it uses the primitives of README.md only; it counts what it executes; and SelectRare always
// runs the rare part, as code that cannot branch does.
#pragma once

#include "lib/math/primitives.h"

namespace hlo::traced {

// Primitives executed since the last reset, constants not counted.
inline int operation_count = 0;

template <class T>
class Traced {
 public:
  explicit constexpr Traced(T value) : value_(value) {}
  // For tests only: the functions have no business looking inside.
  constexpr T Peek() const { return value_; }

 private:
  T value_;
};

template <class T>
Traced<T> Made(T value) {
  ++operation_count;
  return Traced<T>(value);
}

}  // namespace hlo::traced

namespace hlo::math {
template <class T>
struct ValueTraits<traced::Traced<T>> {
  using Scalar = T;
  template <class U>
  using Rebind = traced::Traced<U>;
};
}  // namespace hlo::math

namespace hlo::traced {

template <class T>
using Int = math::IntOf<Traced<T>>;

template <math::NativeFloat T>
Traced<T> Const(Traced<T>, double value) {
  return Traced<T>(static_cast<T>(value));
}
template <class T>
auto IntConst(Traced<T> like, int64_t value) {
  const auto constant = math::IntConst(like.Peek(), value);
  return Traced<std::remove_const_t<decltype(constant)>>(constant);
}

// One definition for each arity and each of: T -> T, T -> mask.
#define HLO_TRACED_UNARY(Name)         \
  template <class T>                   \
  Traced<T> Name(Traced<T> x) {        \
    return Made(math::Name(x.Peek())); \
  }
#define HLO_TRACED_BINARY(Name)                  \
  template <class T>                             \
  Traced<T> Name(Traced<T> a, Traced<T> b) {     \
    return Made(math::Name(a.Peek(), b.Peek())); \
  }
#define HLO_TRACED_COMPARISON(Name)              \
  template <class T>                             \
  Traced<bool> Name(Traced<T> a, Traced<T> b) {  \
    return Made(math::Name(a.Peek(), b.Peek())); \
  }
#define HLO_TRACED_SHIFT(Name)                       \
  template <class T>                                 \
  Traced<T> Name(Traced<T> x, int count) {           \
    return Made(math::Name(x.Peek(), count));        \
  }                                                  \
  template <class T>                                 \
  Traced<T> Name(Traced<T> x, Traced<T> count) {     \
    return Made(math::Name(x.Peek(), count.Peek())); \
  }

HLO_TRACED_UNARY(Sqrt)
HLO_TRACED_UNARY(Floor)
HLO_TRACED_UNARY(Ceil)
HLO_TRACED_UNARY(Trunc)
HLO_TRACED_UNARY(RoundEven)
HLO_TRACED_UNARY(Neg)
HLO_TRACED_UNARY(Abs)
HLO_TRACED_UNARY(Not)
HLO_TRACED_UNARY(Clz)
HLO_TRACED_UNARY(Popcount)
HLO_TRACED_BINARY(Add)
HLO_TRACED_BINARY(Sub)
HLO_TRACED_BINARY(Mul)
HLO_TRACED_BINARY(Div)
HLO_TRACED_BINARY(Rem)
HLO_TRACED_BINARY(MulHigh)
HLO_TRACED_BINARY(CopySign)
HLO_TRACED_BINARY(And)
HLO_TRACED_BINARY(Or)
HLO_TRACED_BINARY(Xor)
HLO_TRACED_COMPARISON(Equal)
HLO_TRACED_COMPARISON(NotEqual)
HLO_TRACED_COMPARISON(Less)
HLO_TRACED_COMPARISON(LessEq)
HLO_TRACED_SHIFT(Shl)
HLO_TRACED_SHIFT(Lshr)
HLO_TRACED_SHIFT(Ashr)
#undef HLO_TRACED_UNARY
#undef HLO_TRACED_BINARY
#undef HLO_TRACED_COMPARISON
#undef HLO_TRACED_SHIFT

template <class T>
Traced<T> Fma(Traced<T> a, Traced<T> b, Traced<T> c) {
  return Made(math::Fma(a.Peek(), b.Peek(), c.Peek()));
}
// Costs nothing: the same register.
template <class T>
Int<T> Bits(Traced<T> x) {
  return Int<T>(math::Bits(x.Peek()));
}
inline Traced<float> FromBits(Traced<int32_t> bits) {
  return Traced<float>(math::FromBits(bits.Peek()));
}
inline Traced<double> FromBits(Traced<int64_t> bits) {
  return Traced<double>(math::FromBits(bits.Peek()));
}

template <class T>
Traced<T> Select(Traced<bool> mask, Traced<T> a, Traced<T> b) {
  return Made(mask.Peek() ? a.Peek() : b.Peek());
}
template <class T, class Rare>
Traced<T> SelectRare(Traced<bool> mask, Rare rare, Traced<T> x, Traced<T> common) {
  const int before = operation_count;
  const Traced<T> value = rare(x);
  operation_count = before;  // a machine branches around it
  return Select(mask, value, common);
}
template <class To, class From>
Traced<To> Cast(Traced<From> x) {
  return Made(math::Cast<To>(x.Peek()));
}
template <class T>
Traced<T> Lookup(Traced<T>, std::span<const T> table, Int<T> index) {
  // The rare part runs for every value here, so an index outside would be noticed.
  if (index.Peek() < 0 || static_cast<size_t>(index.Peek()) >= table.size()) std::abort();
  return Made(table[index.Peek()]);
}

}  // namespace hlo::traced
