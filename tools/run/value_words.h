// Short forms of a value on the command line, beside HLO's own literals:
//
//   4xf32=1 2 3 4      f32[2,2]={{1, 2}, {3, 4}}     the elements in order; brackets only group them
//   4xf32=2            f32=2                        one number everywhere
//   f32[2,3]=@x.bin    2x3xf32=@x.bin:128           bytes as in memory, little-endian, from an offset
//   f32[8]=iota        f32[8]=zeros                 numbers that are made
//
// Shapes are written as HLO does (f32[2,3], s32[]) or as MLIR does (2x3xf32, i32).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

// How the elements of an input are made.
enum class Distribution : uint8_t { kUniform, kNormal, kInts, kZeros, kOnes, kIota, kSpecial };
// What `--input-dist` calls them.
inline constexpr std::string_view kDistributionWords[] = {"uniform", "normal", "ints",   "zeros",
                                                          "ones",    "iota",   "special"};
std::optional<Distribution> DistributionFromWord(std::string_view word);

struct Range {
  double low = 0;
  double high = 0;
};
// "-1,1"; low <= high, both finite.
std::optional<Range> RangeFromWord(std::string_view word);

// The array that a distribution makes, of input `number`. The range is that of uniform numbers and
// of ints, both ends included for ints; empty: [-1, 1) and [-8, 7]. `special` numbers are zeros,
// denormals, the smallest, the largest, ones, infinities and NaN, by turns.
Literal MakeDistributed(Shape shape, Distribution distribution, const std::optional<Range>& range,
                        uint64_t seed, int64_t number);

// The bytes of an array as `@FILE` reads them.
std::string BytesOfArray(const Literal& array);

// Whether a word is SHAPE=VALUES, and no literal or file.
bool IsValueWord(std::string_view word);
// Its value; `seed` and `number` are those of what is made.
absl::StatusOr<Literal> ReadValueWord(std::string_view word, uint64_t seed, int64_t number);

}  // namespace hlo
