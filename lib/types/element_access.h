// lib/types/element_access.h
//
// Reading and writing runs of array elements through three wide types: double, 64-bit integers and
// complex<double>. Everything generic about literals goes through here, so that code for all
// element types is instantiated once.
//
// Writing rounds once (floats), truncates and saturates (double to integer; NaN gives 0) or wraps
// (integer to integer). Values of pred are 0 and 1; everything but zero writes 1.
#pragma once

#include <complex>
#include <cstdint>

#include "lib/types/element_type.h"

namespace hlo {

// Exact, but for 64-bit integers beyond 2^53 (rounded to odd, so that one more rounding to a
// narrower float is right). Complex gives the real part.
void ReadDoubles(ElementType type, const uint8_t* from, int64_t count, double* to);
// Integers and pred; u64 as its bit pattern. Floats and complex are truncated and saturated.
void ReadInts(ElementType type, const uint8_t* from, int64_t count, int64_t* to);
void ReadComplexes(ElementType type, const uint8_t* from, int64_t count, std::complex<double>* to);

void WriteDoubles(ElementType type, const double* from, int64_t count, uint8_t* to);
// `is_unsigned`: the values are bit patterns of u64, which matters for floats.
void WriteInts(ElementType type, const int64_t* from, int64_t count, bool is_unsigned, uint8_t* to);
// Real types take the real part, pred whether either part is not zero.
void WriteComplexes(ElementType type, const std::complex<double>* from, int64_t count, uint8_t* to);

}  // namespace hlo
