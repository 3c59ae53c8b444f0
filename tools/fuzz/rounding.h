// What platforms may round, order or choose in another way and still be right: questions about
// single instructions.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// A sum of terms in an order of its own, and what has one inside.
bool MayRoundOtherwise(const Instruction& instruction);

// Takes its elements in any order and returns one of them: of several zeros any may come out.
bool ChoosesByRegion(const Instruction& instruction);

// Of several NaNs any may come out.
bool MayChooseNan(const Instruction& instruction);

// Arithmetic and functions of floats; what only chooses, moves or rounds by itself is exact.
bool IsArithmetic(const Instruction& instruction);

// Looks at the bits of floats.
bool LooksAtBits(const Instruction& instruction);

// Scales, whose smallest is a denormal as f32: a number or, flushed, none.
bool IsScale(const Instruction& instruction);

// Cuts values into narrower elements.
bool CutsBits(const Instruction& instruction);

// Sees zeros that no operand has: what it multiplies with them, a platform may leave out.
bool SeesPadding(const Instruction& instruction);

// Means and variances of a batch.
bool IsStatistics(const Instruction& instruction);

}  // namespace hlo
