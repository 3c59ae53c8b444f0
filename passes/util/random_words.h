// The counter-based generators of random bits as HLO: the same words, bit for bit, as the
// interpreter's (lib/eval/random_bits.h, where their layout is described).
#pragma once

#include <utility>

#include "lib/ir/builder.h"

namespace hlo {

// A 128-bit counter, u64 scalars.
struct CounterWords {
  Instruction* low = nullptr;
  Instruction* high = nullptr;
};

// Words in the sizes of `shape`, u64 for element types of 64 bits and else u32, and the counter
// after them. `key` is a u64 scalar.
std::pair<Instruction*, CounterWords> PhiloxWords(Builder& builder, Instruction* key,
                                                  CounterWords counter, Shape shape);
// The same with a counter of 64 bits, a u64 scalar.
std::pair<Instruction*, Instruction*> ThreeFryWords(Builder& builder, Instruction* key,
                                                    Instruction* counter, Shape shape);

// `dims` with half the size, rounded up, of the dimension along which pairs lie (PairDimension of
// lib/eval/random_bits.h). Not for scalars.
std::vector<int64_t> HalvedSizes(absl::Span<const int64_t> dims);
// Two arrays of halved sizes, whose elements alternate along the halved dimension, as one
// of sizes `dims`.
Instruction* AlternateHalves(Builder& builder, Instruction* first, Instruction* second,
                             absl::Span<const int64_t> dims);

// Words as elements of `type`, whose width some unsigned type has: the low bits.
Instruction* WordsAs(Builder& builder, Instruction* words, ElementType type);

}  // namespace hlo
