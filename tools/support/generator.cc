#include "tools/support/generator.h"

#include <algorithm>

#include "lib/types/element_access.h"

namespace hlo {
namespace {

constexpr uint64_t kGamma = 0x9E3779B97F4A7C15;
constexpr int64_t kBlock = 4096;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double RealScalar(const InputSpec& spec, uint64_t key, int64_t i, bool is_double_type) {
  switch (spec.kind) {
    case InputSpec::Kind::kUniform: {
      const double k = static_cast<double>(InputDraw(key, i) >> 40);
      return static_cast<float>(spec.lo + (spec.hi - spec.lo) * k / 16777216.0);
    }
    case InputSpec::Kind::kRandint: {
      const uint64_t range =
          static_cast<uint64_t>(spec.int_hi) - static_cast<uint64_t>(spec.int_lo);
      return static_cast<double>(spec.int_lo +
                                 static_cast<int64_t>(((InputDraw(key, i) >> 32) * range) >> 32));
    }
    case InputSpec::Kind::kIota: return static_cast<double>(i);
    case InputSpec::Kind::kConst:
    case InputSpec::Kind::kValues: {
      const double value =
          spec.reals[spec.kind == InputSpec::Kind::kConst ? 0 : static_cast<size_t>(i)];
      return is_double_type ? value : static_cast<float>(value);
    }
  }
  return 0;
}

int64_t IntScalar(const InputSpec& spec, uint64_t key, int64_t i) {
  switch (spec.kind) {
    case InputSpec::Kind::kUniform: return static_cast<int64_t>(RealScalar(spec, key, i, false));
    case InputSpec::Kind::kRandint: {
      const uint64_t range =
          static_cast<uint64_t>(spec.int_hi) - static_cast<uint64_t>(spec.int_lo);
      return spec.int_lo + static_cast<int64_t>(((InputDraw(key, i) >> 32) * range) >> 32);
    }
    case InputSpec::Kind::kIota: return i;
    case InputSpec::Kind::kConst: return spec.ints[0];
    case InputSpec::Kind::kValues: return spec.ints[static_cast<size_t>(i)];
  }
  return 0;
}

}  // namespace

uint64_t InputKey(uint64_t seed, int64_t input) {
  return Mix(seed + kGamma * (static_cast<uint64_t>(input) + 1));
}

uint64_t InputDraw(uint64_t key, int64_t i) {
  return Mix(key + kGamma * (static_cast<uint64_t>(i) + 1));
}

Literal GenerateInput(Shape shape, const InputSpec& spec, uint64_t seed, int64_t input) {
  Literal literal(shape);
  const uint64_t key = InputKey(seed, input);
  const ElementType type = shape.element_type();
  const ElementType part = ComponentType(type);
  const int64_t count = shape.element_count() * (IsComplex(type) ? 2 : 1);
  if (count == 0) return literal;
  uint8_t* to = literal.mutable_data();
  double reals[kBlock];
  int64_t ints[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    if (IsFloat(part)) {
      for (int64_t i = 0; i < n; ++i)
        reals[i] = RealScalar(spec, key, begin + i, part == ElementType::kF64);
      WriteDoubles(part, reals, n, to);
    } else {
      for (int64_t i = 0; i < n; ++i) ints[i] = IntScalar(spec, key, begin + i);
      WriteInts(part, ints, n, IsUnsigned(part), to);
    }
    to += n * ByteSize(part);
  }
  return literal;
}

}  // namespace hlo
