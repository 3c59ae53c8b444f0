// The documented generator of inputs (testdata/models/README.md): every element is a pure function
// of the seed, the number of the input and the place of the element, the same on all machines.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/types/literal.h"

namespace hlo {

// The key of input number `input`.
uint64_t InputKey(uint64_t seed, int64_t input);
// The 64 random bits of scalar `i`.
uint64_t InputDraw(uint64_t key, int64_t i);

// How the scalars of one input are made. Scalars of complex arrays are real and imaginary parts in
// turn.
struct InputSpec {
  enum class Kind : uint8_t { kUniform, kRandint, kConst, kIota, kValues };
  Kind kind = Kind::kUniform;
  double lo = 0;  // kUniform; multiples of 2^-20 in [-64, 64]
  double hi = 1;
  int64_t int_lo = 0;  // kRandint: int_lo <= value < int_hi
  int64_t int_hi = 2;
  std::vector<double> reals;  // kConst (one) and kValues (all), float and complex types
  std::vector<int64_t> ints;  // the same for integers and pred
};

// The array of this shape. Floats are rounded to f32 and then once to the type, as the README says.
Literal GenerateInput(Shape shape, const InputSpec& spec, uint64_t seed, int64_t input);

}  // namespace hlo
