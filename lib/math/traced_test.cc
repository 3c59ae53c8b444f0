// Every function, run on a value type that has nothing but the primitives, gives the bits of the
// native one.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <vector>

#include "lib/math/all.h"
#include "lib/math/traced_value.h"

namespace hlo::math {
namespace {

using traced::Traced;

template <class T>
bool Same(T a, T b) {
  if constexpr (NativeFloat<T>) {
    return Bits(a) == Bits(b) || (a != a && b != b);
  } else {
    return a == b;
  }
}

template <class T>
std::vector<T> FloatSamples() {
  std::vector<T> samples;
  for (double x : {0.0, 0.1, 0.5, 0.924, 1.0, 1.5, 2.0, 3.0, 7.5, 20.0, 88.5, 1e5, 1e10, 1e30, 1e-5,
                   1e-30, kInf, kNan}) {
    samples.push_back(static_cast<T>(x));
    samples.push_back(static_cast<T>(-x));
  }
  samples.push_back(std::numeric_limits<T>::denorm_min());
  samples.push_back(std::numeric_limits<T>::max());
  std::mt19937_64 random(17);
  for (int i = 0; i < 300; ++i) {
    samples.push_back(FromBits(static_cast<IntOf<T>>(random())));
    samples.push_back(static_cast<T>((static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 20));
  }
  return samples;
}

#define HLO_UNARY_FUNCTIONS(X) \
  X(Exp)                       \
  X(Expm1)                     \
  X(Log)                       \
  X(Log1p)                     \
  X(Logistic)                  \
  X(Tanh)                      \
  X(Erf)                       \
  X(Sin)                       \
  X(Cos)                       \
  X(Tan)                       \
  X(Asin)                      \
  X(Acos)                      \
  X(Atan) X(Sinh) X(Cosh) X(Asinh) X(Acosh) X(Atanh) X(Rsqrt) X(Cbrt) X(Sign) X(RoundNearestAfz)
#define HLO_BINARY_FUNCTIONS(X) X(Pow) X(Atan2) X(Min) X(Max)
#define HLO_COMPLEX_FUNCTIONS(X) \
  X(Exp)                         \
  X(Expm1)                       \
  X(Log)                         \
  X(Log1p)                       \
  X(Logistic)                    \
  X(Sqrt)                        \
  X(Rsqrt)                       \
  X(Sin) X(Cos) X(Tan) X(Tanh) X(Sinh) X(Cosh) X(Asin) X(Acos) X(Asinh) X(Acosh) X(Atanh) X(Sign)

TEMPLATE_TEST_CASE("float functions use primitives only", "[math][traced]", float, double) {
  using T = TestType;
  const std::vector<T> samples = FloatSamples<T>();
  for (T x : samples) {
    CAPTURE(x);
#define HLO_CHECK_UNARY(F) \
  if (!Same(F(Traced<T>(x)).Peek(), F(x))) FAIL_CHECK(#F << " differs at " << x);
    HLO_UNARY_FUNCTIONS(HLO_CHECK_UNARY)
    if (TotalOrderKey(Traced<T>(x)).Peek() != TotalOrderKey(x))
      FAIL_CHECK("TotalOrderKey differs at " << x);
    if (!Same(ReducePrecision(Traced<T>(x), 5, 3).Peek(), ReducePrecision(x, 5, 3))) {
      FAIL_CHECK("ReducePrecision differs at " << x);
    }
  }
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const T x = samples[i], y = samples[(i * 37 + 5) % samples.size()];
#define HLO_CHECK_BINARY(F)                                 \
  if (!Same(F(Traced<T>(x), Traced<T>(y)).Peek(), F(x, y))) \
    FAIL_CHECK(#F << " differs at " << x << ", " << y);
    HLO_BINARY_FUNCTIONS(HLO_CHECK_BINARY)
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("complex functions use primitives only", "[math][traced]", float, double) {
  using T = TestType;
  const std::vector<T> samples = FloatSamples<T>();
  const auto same = [](Complex<Traced<T>> a, Complex<T> b) {
    return Same(a.re.Peek(), b.re) && Same(a.im.Peek(), b.im);
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    const T a = samples[i], b = samples[(i * 41 + 3) % samples.size()];
    const Complex<T> z = {a, b}, w = {b, samples[(i * 7 + 1) % samples.size()]};
    const Complex<Traced<T>> tz = {Traced<T>(z.re), Traced<T>(z.im)},
                             tw = {Traced<T>(w.re), Traced<T>(w.im)};
#define HLO_CHECK_COMPLEX(F) \
  if (!same(F(tz), F(z))) FAIL_CHECK(#F << " differs at " << a << ", " << b);
    HLO_COMPLEX_FUNCTIONS(HLO_CHECK_COMPLEX)
#define HLO_CHECK_COMPLEX_BINARY(F) \
  if (!same(F(tz, tw), F(z, w))) FAIL_CHECK(#F << " differs at " << a << ", " << b);
    HLO_CHECK_COMPLEX_BINARY(Add)
    HLO_CHECK_COMPLEX_BINARY(Sub)
    HLO_CHECK_COMPLEX_BINARY(Mul)
    HLO_CHECK_COMPLEX_BINARY(Div)
    HLO_CHECK_COMPLEX_BINARY(Pow)
    HLO_CHECK_COMPLEX_BINARY(Atan2)
    if (!Same(Abs(tz).Peek(), Abs(z))) FAIL_CHECK("Abs differs at " << a << ", " << b);
  }
  SUCCEED();
}

TEMPLATE_TEST_CASE("integer functions use primitives only", "[math][traced]", int8_t, uint8_t,
                   int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t) {
  using T = TestType;
  using V = Traced<T>;
  std::mt19937_64 random(3);
  std::vector<T> samples = {
      0, 1, 2, T(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  for (int i = 0; i < 20; ++i) samples.push_back(static_cast<T>(random() >> (random() % 64)));
  for (T a : samples) {
    if (CountLeadingZeros(V(a)).Peek() != CountLeadingZeros(a))
      FAIL_CHECK("CountLeadingZeros at " << +a);
    if (PopulationCount(V(a)).Peek() != PopulationCount(a)) FAIL_CHECK("PopulationCount at " << +a);
    if (!Same(IntToOddFloat(V(a)).Peek(), IntToOddFloat(a))) FAIL_CHECK("IntToOddFloat at " << +a);
    for (T b : samples) {
#define HLO_CHECK_INT(F) \
  if (F(V(a), V(b)).Peek() != F(a, b)) FAIL_CHECK(#F << " differs at " << +a << ", " << +b);
      HLO_CHECK_INT(IntDivide)
      HLO_CHECK_INT(IntRemainder)
      HLO_CHECK_INT(IntMulHigh)
      HLO_CHECK_INT(IntPower)
      HLO_CHECK_INT(IntMin)
      HLO_CHECK_INT(IntMax)
      HLO_CHECK_INT(ShiftLeft)
      HLO_CHECK_INT(ShiftRightLogical)
      HLO_CHECK_INT(ShiftRightArithmetic)
    }
  }
  SUCCEED();
}

TEST_CASE("conversions use primitives only", "[math][traced]") {
  for (float x : FloatSamples<float>()) {
    const Traced<float> t(x);
    CHECK(FloatToInt<int32_t>(t).Peek() == FloatToInt<int32_t>(x));
    CHECK(FloatToInt<uint8_t>(t).Peek() == FloatToInt<uint8_t>(x));
    CHECK(EncodeFloat<F16>(t).Peek() == EncodeFloat<F16>(x));
    CHECK(EncodeFloat<F8E4M3FNUZ>(t).Peek() == EncodeFloat<F8E4M3FNUZ>(x));
    CHECK(EncodeFloat<F8E8M0FNU>(t).Peek() == EncodeFloat<F8E8M0FNU>(x));
    CHECK(StochasticConvert<int16_t>(t, Traced<uint32_t>(77777777)).Peek() ==
          StochasticConvert<int16_t>(x, uint32_t{77777777}));
  }
  for (int32_t code = 0; code < 256; ++code) {
    CHECK(Same(DecodeFloat<F8E5M2>(Traced<int32_t>(code)).Peek(), DecodeFloat<F8E5M2>(code)));
  }
  for (double x : FloatSamples<double>()) {
    CHECK(DoubleToSmallFloat<F8E4M3>(Traced<double>(x)).Peek() == DoubleToSmallFloat<F8E4M3>(x));
  }
}

// What a vector unit executes per element where no lane takes a rare path: the cost of the hot
// functions is a promise.
TEST_CASE("hot f32 functions stay cheap", "[math][traced]") {
  const Traced<float> x(0.7f);
  const auto count = [&](auto f) {
    traced::operation_count = 0;
    f(x);
    return traced::operation_count;
  };
#define HLO_CHECK_COST(F, limit)                                        \
  {                                                                     \
    const int operations = count([](auto v) { return F(v); });          \
    INFO(#F << " takes " << operations << " operations");               \
    CHECK(operations <= limit);                                         \
    if (std::getenv("HLO_PRINT_COSTS")) WARN(#F << ": " << operations); \
  }
  HLO_CHECK_COST(Exp, 30)
  HLO_CHECK_COST(Log, 40)
  HLO_CHECK_COST(Tanh, 36)
  HLO_CHECK_COST(Logistic, 40)
  HLO_CHECK_COST(Erf, 42)
  HLO_CHECK_COST(Sin, 34)
  HLO_CHECK_COST(Cos, 34)
  HLO_CHECK_COST(Expm1, 36)
  HLO_CHECK_COST(Log1p, 52)
  HLO_CHECK_COST(Rsqrt, 2)
}

}  // namespace
}  // namespace hlo::math
